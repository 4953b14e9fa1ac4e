# shellcheck shell=bash disable=SC2154
# Step 1: what comes from the distribution. The list, with reasons and licences, is third_party/README.md.

packages=(
  g++ cmake ninja-build pkg-config python3 python3-pip
  libfmt-dev libspdlog-dev libgtest-dev libgmock-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev
  libpango1.0-dev libutfcpp-dev libxxhash-dev libprotozero-dev libisal-dev fonts-dejavu-core
  libeigen3-dev libnlopt-cxx-dev libboost-math-dev
)
packages_stamp=$logs/.setup-packages

missing_packages() {
  local name
  for name in "${packages[@]}"; do
    # A package may be there for several architectures: then its status is printed as often.
    if [[ $(dpkg-query -W -f '${Status}' "$name" 2>/dev/null) != *"install ok installed"* ]]; then
      echo "$name"
    fi
  done
}

# True when CMake finds all of them wherever they come from.
found_by_cmake() {
  local probe=$logs/.setup-probe
  command -v cmake >/dev/null && command -v ninja >/dev/null || return 1
  rm -rf "$probe"
  follow "1/4 looking for libraries" "$logs/probe.log" cmake -S "$root/third_party/probe" -B "$probe" -G Ninja
}

install_packages() {
  local missing as_root=() install
  if [[ -e $packages_stamp && $(<"$packages_stamp") == "${packages[*]}" ]]; then
    return
  fi
  if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
    mapfile -t missing < <(missing_packages)
  else
    missing=("${packages[@]}")
  fi
  if ((${#missing[@]} > 0)) && ! found_by_cmake; then
    command -v apt-get >/dev/null ||
      fail "this is not Debian or Ubuntu and CMake does not find all libraries, expected what third_party/README.md" \
        "lists, under Debian's names: ${packages[*]}; see $logs/probe.log"
    install="apt-get install -y --no-install-recommends ${missing[*]}"
    if ((EUID != 0)); then
      sudo -n true 2>/dev/null ||
        fail "${#missing[@]} packages are missing and this user may not install them, expected:" \
          "sudo sh -c 'apt-get update && $install'"
      as_root=(sudo -n)
    fi
    need_disk / 1200 "the packages"
    say "1/4 installing ${#missing[@]} packages with apt-get (about a minute)"
    follow "1/4 packages" "$logs/packages.log" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive sh -ec "
      dpkg --configure -a
      apt-get -q update
      exec $install -q -o DPkg::Lock::Timeout=300" || {
      tail -n 15 "$logs/packages.log" >&2
      fail "apt-get could not install the packages, expected a working network and package source;" \
        "see $logs/packages.log"
    }
  fi
  echo "${packages[*]}" >"$packages_stamp"
}

# need_disk FOLDER MEGABYTES WHAT
need_disk() {
  local free
  free=$(($(df -Pk -- "$1" | awk 'NR == 2 {print $4}') / 1024))
  ((free >= $2)) || fail "$free MB are free under $1, expected $2 MB for $3"
}
