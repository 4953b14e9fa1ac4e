# shellcheck shell=bash
# Messages and progress of the set-up, all on standard error.

say() { printf '[setup] %s\n' "$*" >&2; }

# One line, `what was wrong, what was expected`, and exit code 69: set-up incomplete.
fail() {
  say "$*"
  exit 69
}

# time_left LINE SECONDS: from Ninja's `[done/all]`, the time that the rest takes at the pace so far.
time_left() {
  if [[ $1 =~ ^\[([0-9]+)/([0-9]+)\] ]] && ((BASH_REMATCH[1] > 4)); then
    echo ", about $(($2 * (BASH_REMATCH[2] - BASH_REMATCH[1]) / BASH_REMATCH[1] + 1)) s left"
  fi
}

# A folder whose size is shown while follow waits, or nothing.
growing=''

# follow LABEL LOG COMMAND...: runs the command with its output in LOG. A terminal sees label, seconds and the last line,
# redrawn each second; anything else gets such a line every ten seconds. Returns the command's exit code.
follow() {
  local label=$1 log=$2
  shift 2
  "$@" 2>&1 </dev/null 9>&- | draw "$label" "$log"
}

size_so_far() {
  if [[ -n $growing ]]; then
    printf ', %s MB' "$(du -sm -- "$growing" 2>/dev/null | cut -f1)"
  fi
}

draw() {
  local label=$1 log=$2 began=$SECONDS shown=$SECONDS line='' last='' left='' part='' code=0 text columns
  columns=$(tput cols 2>/dev/null || echo 80)
  : >"$log"
  while true; do
    code=0
    IFS= read -r -t 1 part || code=$?
    line+=$part
    if ((code == 0)); then
      printf '%s\n' "$line" >>"$log"
      last=$line line=''
      left=$(time_left "$last" $((SECONDS - began)))
    elif ((code <= 128)); then
      printf '%s' "$line" >>"$log"
      break
    fi
    ((SECONDS > shown)) || continue
    [[ -t 2 ]] || ((SECONDS >= shown + 10)) || continue
    shown=$SECONDS
    text="[setup] $label, $((SECONDS - began)) s$left$(size_so_far): $last"
    if [[ -t 2 ]]; then
      printf '\r\033[K%s' "${text:0:columns-1}" >&2
    else
      printf '%s\n' "$text" >&2
    fi
  done
  if [[ -t 2 ]]; then
    printf '\r\033[K' >&2
  fi
  if ((SECONDS - began > 1)); then
    say "$label: $((SECONDS - began)) s"
  fi
}
