#!/usr/bin/env bash
# install_test.sh CMAKE BUILD_FOLDER CONSUMER_FOLDER GENERATOR CXX: installs into a temporary prefix, then configures, builds
# and runs a project that finds it there; the installed program must start too.
set -euo pipefail
cmake=$1 build=$2 consumer=$3 generator=$4 cxx=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix="$folder/in stalled"

"$cmake" --install "$build" --prefix "$prefix" >"$folder/install.log"
test -e "$prefix/include/headtorch/src/core/error.hpp"
test ! -e "$prefix/include/headtorch/src/cli"
"$cmake" -S "$consumer" -B "$folder/build" -G "$generator" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_BUILD_TYPE=Debug
"$cmake" --build "$folder/build"
env -u LD_LIBRARY_PATH "$folder/build/consumer" | tee "$folder/said"
grep -q 'weight 0.25' "$folder/said"
env -u LD_LIBRARY_PATH "$prefix/bin/headtorch" >"$folder/started"
