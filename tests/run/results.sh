# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# What the tiers write and the summary reads: one line per test, "outcome <tab> seconds <tab> name
# <tab> note". Sourced, never run.

# Each run of ./dev test has a folder of its own.
FREEHCA_RESULTS=${FREEHCA_RESULTS:-$FREEHCA_ROOT/build/results/run-$$}
export FREEHCA_RESULTS

# record OUTCOME SECONDS NAME [NOTE]: OUTCOME is passed, failed or skipped.
record() {
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "${4:-}" >>"$FREEHCA_RESULTS/own.tsv"
  case $1 in
    failed) say "FAILED: $3 ${4:-}" ;;
    skipped) say "SKIPPED: $3: ${4:-no reason given}" ;;
  esac
}

# check NAME COMMAND...: one test that is a command; exit status 77 says skipped, with the reason as
# the last line that has "SKIPPED: ". Sets check_outcome.
check() {
  local name=$1 began status=0 log
  shift
  began=$(date +%s)
  log=$FREEHCA_LOGS/$(printf '%s' "$name" | tr -cs 'A-Za-z0-9._+-' '-').check.log
  mkdir -p "$FREEHCA_LOGS"
  # What the command says of its own steps is shown as it comes.
  "$@" 2>&1 >/dev/null | tee "$log" >&2 || status=${PIPESTATUS[0]}
  local seconds=$(($(date +%s) - began))
  export check_outcome=passed
  case $status in
    0) record passed "$seconds" "$name" ;;
    77) check_outcome=skipped; record skipped "$seconds" "$name" "$(sed -n 's/.*SKIPPED: //p' "$log" | tail -n 1)" ;;
    *) check_outcome=failed; record failed "$seconds" "$name" "(status $status, see $log)" ;;
  esac
}
