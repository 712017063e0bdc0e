# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# Times of stages, some of which run beside each other. Sourced, never run. Needs console.sh.

# stages_begin NAME: forgets the stages of an earlier run of this name.
stages_begin() {
  STAGES=$FREEHCA_LOGS/stages-$1.tsv
  mkdir -p "$FREEHCA_LOGS"
  : >"$STAGES"
}

# timed STAGE COMMAND...: runs the command, and notes when it began and how long it took.
timed() {
  local stage=$1 began status=0
  shift
  began=$(date +%s)
  "$@" || status=$?
  printf '%s\t%s\t%s\n' $((began - FREEHCA_START)) $(($(date +%s) - began)) "$stage" >>"$STAGES"
  return "$status"
}

# stages_end: the table, in the order of beginnings, with the whole at its end.
stages_end() {
  say "seconds by stage (they overlap):"
  sort -n "$STAGES" | awk -F '\t' '{ printf "%10s from %3d s: %3d s  %s\n", "", $1, $2, $3 }' >&2
  printf '%10s in all    : %3d s\n' '' $(($(date +%s) - FREEHCA_START)) >&2
}
