#!/usr/bin/env bash
# setup.sh TARGET SETTINGS: makes packages, LibTorch and the build present, in four steps. Called by ./headtorch. Each step
# does nothing when its result is there, leaves the whole result or none, and can be interrupted and run again.
set -euo pipefail

root=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../..
root=$(readlink -f -- "$root")
logs=$root/build
build=$logs/release
target=$1
settings=$2

# shellcheck source=third_party/setup/progress.sh
source "$root/third_party/setup/progress.sh"
# shellcheck source=third_party/setup/packages.sh
source "$root/third_party/setup/packages.sh"
# shellcheck source=third_party/setup/libtorch.sh
source "$root/third_party/setup/libtorch.sh"
# shellcheck source=third_party/setup/python_peers.sh
source "$root/third_party/setup/python_peers.sh"
# shellcheck source=third_party/setup/browser.sh
source "$root/third_party/setup/browser.sh"

# One set-up at a time: descriptor 9 holds the lock until this script ends. No child inherits it (see follow).
take_lock() {
  if ! { mkdir -p "$logs" && : >>"$logs/.setup-lock"; } 2>/dev/null; then
    fail "cannot write to $logs, expected a folder that this user may write to"
  fi
  exec 9>>"$logs/.setup-lock"
  if ! flock --nonblock 9; then
    say "another set-up of this folder is running; waiting for it"
    flock 9
  fi
}

# One job a processor, and 2 GB of memory for each: a file that includes torch/torch.h needs that much.
job_count() {
  local jobs memory_kb limit
  jobs=$(nproc)
  memory_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || true)
  if [[ $limit =~ ^[0-9]{1,15}$ ]] && ((limit / 1024 < memory_kb)); then
    memory_kb=$((limit / 1024))
  fi
  ((jobs <= memory_kb / 2097152)) || jobs=$((memory_kb / 2097152))
  echo $((jobs > 0 ? jobs : 1))
}

configure() {
  local arguments=(-S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release
    -DHEADTORCH_WARNINGS_AS_ERRORS="${HEADTORCH_WARNINGS_AS_ERRORS:-OFF}")
  if command -v ccache >/dev/null; then
    arguments+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  # A cache made for another folder, compiler or LibTorch is of no use, and CMake refuses to change some of it.
  rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
  if ! follow "3/4 configuring" "$logs/configure.log" cmake "${arguments[@]}"; then
    rm -f "$packages_stamp"
    tail -n 15 "$logs/configure.log" >&2
    fail "CMake could not configure the build, expected it to find everything; see $logs/configure.log"
  fi
  printf '%s\n' "$settings" >"$build/.headtorch-configured"
}

# The stamp carries the time at which the build began, so that a file saved during the build counts as newer.
build_target() {
  local jobs stamp=$build/.headtorch-built
  if [[ ! -e $build/build.ninja || $(cat "$build/.headtorch-configured" 2>/dev/null) != "$settings" ]]; then
    configure
  fi
  jobs=$(job_count)
  printf '%s\n' "$settings" >"$stamp.new"
  if [[ ! -e $build/.ninja_log ]]; then
    say "4/4 building with $jobs jobs (about 15 minutes on two processors the first time, tests included)"
  fi
  if ! follow "4/4 building" "$logs/build.log" env NINJA_STATUS='[%f/%t] ' ninja -C "$build" -j "$jobs" "$target"; then
    sed -n '/^FAILED:/,$p' "$logs/build.log" | head -n 40 >&2
    fail "the build failed, expected it to succeed; see $logs/build.log"
  fi
  mv "$stamp.new" "$stamp"
}

trap 'say "interrupted; the same command goes on from here"; exit 130' INT
trap 'say "terminated; the same command goes on from here"; exit 143' TERM
take_lock
install_packages
install_libtorch
if [[ $target == all ]]; then
  install_python_peers
  install_browser
fi
build_target
