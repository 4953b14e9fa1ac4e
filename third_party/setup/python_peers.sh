# shellcheck shell=bash disable=SC2154
# For the tests alone: Python programs that must be able to read our files. Without them the tests in tests/interop skip, so
# a failure here is said and not fatal. third_party/README.md lists them with licences and reasons.

python_peers=(tensorboard==2.21.0)
peers_folder=$logs/python-peers

install_python_peers() {
  local python stamp=$peers_folder/.complete partial
  if [[ -e $stamp && $(<"$stamp") == "${python_peers[*]}" ]]; then
    return
  fi
  python=$(python_with_pip) || return 0
  partial=$logs/.python-peers
  rm -rf "$partial"
  say "downloading what the tests compare with (${python_peers[*]}; 180 MB unpacked, some seconds)"
  if follow "Python packages for the tests" "$logs/python-peers.log" env PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 \
    PIP_ROOT_USER_ACTION=ignore "$python" -m pip install --no-compile --target "$partial" "${python_peers[@]}"; then
    rm -rf "$peers_folder"
    mv "$partial" "$peers_folder"
    echo "${python_peers[*]}" >"$stamp"
  else
    say "pip could not download ${python_peers[*]}; the tests in tests/interop will skip; see $logs/python-peers.log"
  fi
}
