# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# What every part of ./dev prints with: messages, and steps that show how far they are and for how
# long. Sourced, never run. Expects FREEHCA_ROOT (the checkout).

: "${FREEHCA_ROOT:?}"
FREEHCA_LOGS=${FREEHCA_LOGS:-$FREEHCA_ROOT/build/logs}
# All parts of one ./dev run count from the same start.
export FREEHCA_START=${FREEHCA_START:-$(date +%s)}

# show_help_if_asked WORD...: if -h or --help is among the words (those behind `--` do not count),
# prints the comment at the head of the script that runs, with the script's name replaced by its
# command of ./dev, and ends it with status 0.
show_help_if_asked() {
  local word
  for word in "$@"; do
    case $word in
      --) return 0 ;;
      -h | --help)
        sed -n -e "4s|^# [a-z_]*\.sh|# ./dev ${FREEHCA_COMMAND:-}|" -e '4,/^[^#]/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    esac
  done
}

elapsed() {
  local seconds=$(($(date +%s) - FREEHCA_START))
  printf '%d:%02d' $((seconds / 60)) $((seconds % 60))
}

say() { printf '[%5s] %s\n' "$(elapsed)" "$*" >&2; }

warn() { say "WARNING: $*"; }

die() {
  say "ERROR: $*"
  exit 1
}

# How far a step is: the last "[n/m]" or "[n%]" in its log, else the log's last line.
step_progress() {
  local lines note
  lines=$(tail -c 4096 "$1" 2>/dev/null | tr '\r' '\n' | tr -cd '[:print:]\n' || true)
  note=$(grep -oE '^\[ *[0-9]+(/[0-9]+|%)\]' <<<"$lines" | tail -n 1 || true)
  printf '%s' "${note:-$(tail -n 1 <<<"$lines" | cut -c 1-70)}"
}

# step LABEL COMMAND...: runs the command with its whole output in a log file. Says what is done,
# how far it is (about every half minute; each second on a terminal) and how long it took. On
# failure it names the log, shows its end and returns the command's status.
# The command must be a program, not a function: `set -e` does not work in a function called from a
# condition.
step() {
  local label=$1 log began pid status=0 waited=0 note
  shift
  mkdir -p "$FREEHCA_LOGS"
  log=$FREEHCA_LOGS/$(printf '%s' "$label" | tr -cs 'A-Za-z0-9._+-' '-').log
  began=$(date +%s)
  say "$label ..."
  printf '+ %s\n' "$*" >"$log"
  # A process group of its own, ended as a whole when we are: a build left alone would work on, lock
  # and all.
  setsid "$@" >>"$log" 2>&1 </dev/null &
  pid=$!
  # shellcheck disable=SC2064 # this step's process, not a later one's
  trap "kill -TERM -- -$pid 2>/dev/null; exit 130" INT TERM HUP
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    waited=$((waited + 1))
    # The session is also a group of Linux' scheduler: it is to be as nice as ours.
    if [[ $waited -eq 1 ]]; then
      sed 's/.* //' 2>/dev/null >"/proc/$pid/autogroup" /proc/self/autogroup || true
    fi
    if [[ -t 2 && $((waited % 5)) -eq 0 ]]; then
      printf '\r\033[K[%5s] %s ... %s ' "$(elapsed)" "$label" "$(step_progress "$log")" >&2
    elif [[ ! -t 2 && $((waited % 150)) -eq 0 ]]; then
      note=$(step_progress "$log")
      say "$label ... $(($(date +%s) - began)) s: ${note}"
    fi
  done
  [[ -t 2 ]] && printf '\r\033[K' >&2
  wait "$pid" || status=$?
  trap - INT TERM HUP
  if [[ $status -eq 0 ]]; then
    say "$label: done in $(($(date +%s) - began)) s"
  else
    say "$label: FAILED with status $status after $(($(date +%s) - began)) s; the end of $log:"
    tail -n "${FREEHCA_LOG_TAIL:-30}" "$log" | sed 's/^/        | /' >&2
  fi
  return "$status"
}
