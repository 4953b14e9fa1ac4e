# shellcheck shell=bash disable=SC2154
# Step 2: LibTorch. cmake/LibTorchSearch.cmake knows where to look; only when that finds none is it downloaded into
# third_party/libtorch: into a folder beside it first, then renamed, so that the folder is whole whenever it exists.

libtorch=$root/third_party/libtorch
libtorch_version=2.11.0
# These two are all that libtorch_cpu.so itself asks for: 1.2 GB in place of 5 GB.
libtorch_cpu_packages=(nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85)
# Headers that those of the runtime include, for libheadtorch_cuda.so (cmake/Cuda.cmake).
cuda_header_package=nvidia-cuda-crt==13.0.88

libtorch_is_found() {
  cmake -P "$root/cmake/LibTorchSearch.cmake" >"$logs/libtorch-search.log" 2>&1 9>&-
}

has_nvidia_gpu() { [[ -e /dev/nvidia0 ]] || nvidia-smi -L 2>/dev/null | grep -q '^GPU'; }

# Prints a Python with pip that torch 2.11.0 has a wheel for (3.10 to 3.14).
python_with_pip() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import sys, pip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  return 1
}

install_libtorch() {
  local python arguments partial size=3500 about="530 MB, 1.2 GB unpacked, about a minute"
  if libtorch_is_found; then
    return
  fi
  rm -rf "$root"/third_party/.libtorch.*
  [[ $(uname -m) == x86_64 ]] ||
    fail "no LibTorch was found and this is $(uname -m), expected x86_64 for the download or Torch_DIR set to LibTorch 2.8 to 2.15"
  python=$(python_with_pip) ||
    fail "no Python 3.10 to 3.14 with pip was found, expected one (Debian: apt-get install python3-pip) or Torch_DIR set"
  arguments=(--no-deps "torch==$libtorch_version" "${libtorch_cpu_packages[@]}" "$cuda_header_package")
  if has_nvidia_gpu; then
    arguments=("torch==$libtorch_version" "$cuda_header_package")
    size=12000 about="3 GB with CUDA, 8 GB unpacked, some minutes"
  fi
  need_disk "$root/third_party" "$size" "LibTorch and the build"
  say "2/4 downloading LibTorch $libtorch_version into third_party/libtorch ($about)"
  partial=$(mktemp -d "$root/third_party/.libtorch.XXXXXX")
  mkdir "$partial/tmp"
  trap 'rm -rf "$root"/third_party/.libtorch.*' EXIT
  growing=$partial
  # The two PIP variables: --target is refused beside --user and needs no virtual environment.
  follow "2/4 LibTorch" "$logs/libtorch.log" env TMPDIR="$partial/tmp" PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 \
    PIP_ROOT_USER_ACTION=ignore "$python" -m pip install --no-compile --target "$partial/libtorch" "${arguments[@]}" || {
    grep -v '^ *$' "$logs/libtorch.log" | tail -n 5 >&2
    fail "pip could not download LibTorch, expected a working network or Torch_DIR set to an installed LibTorch;" \
      "see $logs/libtorch.log"
  }
  growing=''
  rm -rf "$libtorch"
  mv "$partial/libtorch" "$libtorch"
  rm -rf "$partial"
  trap - EXIT
  libtorch_is_found || fail "the LibTorch that was downloaded is not usable, expected it in $libtorch;" \
    "see $logs/libtorch-search.log"
}
