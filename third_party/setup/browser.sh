# shellcheck shell=bash disable=SC2154
# For the tests of the page alone: a headless Chromium from the distribution. Without one they skip, so a failure here is said
# and not fatal; it is not tried again until the package database changes.

browser_package=chromium-headless-shell

install_browser() {
  local name as_root=() stamp=$logs/.setup-browser
  for name in chromium-headless-shell chromium chromium-browser google-chrome-stable google-chrome; do
    if command -v "$name" >/dev/null; then
      return
    fi
  done
  if ! command -v apt-get >/dev/null || [[ -e $stamp && ! /var/lib/dpkg/status -nt $stamp ]]; then
    return
  fi
  if ((EUID != 0)); then
    sudo -n true 2>/dev/null || return 0
    as_root=(sudo -n)
  fi
  say "installing $browser_package for the tests of the page (300 MB unpacked, some seconds)"
  if ! follow "browser for the tests" "$logs/browser.log" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive sh -ec "
    apt-get -q update
    exec apt-get install -y --no-install-recommends $browser_package -q -o DPkg::Lock::Timeout=300"; then
    say "apt-get could not install $browser_package; the tests in tests/page will skip; see $logs/browser.log"
  fi
  touch "$stamp"
}
