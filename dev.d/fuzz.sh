#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# fuzz.sh driver|model [SECONDS]: the driver against an adapter that lies, or the model against a hostile guest and a
# hostile far end of its cable, under sanitizers, for so many seconds (default 60). What it learns is kept in the
# cache; an input that finds something is left in build/fuzz-findings.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
cd "$FREEHCA_ROOT"
target=${1:-} seconds=${2:-60}
[[ $target == driver || $target == model ]] || die "fuzz: say what: driver or model"
[[ $seconds =~ ^[0-9]+$ && $seconds -gt 0 ]] || die "fuzz: '$seconds' is no number of seconds"
# Both fuzzers may be asked for at once: one builds after the other.
mkdir -p build/fuzz
exec 8>build/fuzz/lock
flock 8
need script build clang
step "fuzz: configure" cmake --preset fuzz || die "CMake fails"
step "fuzz: build" nice cmake --build --preset fuzz --target "freehca_${target}_fuzz" || die "it does not build"
flock -u 8

learned=$FREEHCA_CACHE/fuzz/$target findings=build/fuzz-findings/
mkdir -p "$learned" "$findings"
cache_lock "fuzz-$target"
log=$FREEHCA_LOGS/fuzz-$target.log status=0
say "fuzz: $target for $seconds s"
# What follows which features are rare costs more than running an input does; what an input has allocated goes with the
# reset of its machine, so that there are no leaks to look for (the replay in ./dev test looks for them).
TIMEFORMAT='%U %S'
{ time "build/fuzz/tests/fuzz/freehca_${target}_fuzz" "-max_total_time=$seconds" -max_len=512 -timeout=60 -entropic=0 \
  -detect_leaks=0 -rss_limit_mb=4096 "-artifact_prefix=$findings" -print_final_stats=1 \
  "$learned" "tests/fuzz/${target}_inputs" >"$log" 2>&1 || status=$?; } 2>"$log.time"
if [[ $status -ne 0 ]]; then
  grep -E '^finding:|^arena:|ERROR|runtime error|SUMMARY|Test unit written' "$log" >&2 || tail -n 30 "$log" >&2
  die "fuzz: $target: something was found; the log: $log; again: build/fuzz/tests/fuzz/freehca_${target}_fuzz INPUT"
fi
executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
# By the clock, and by the time that a processor spent on it, which does not depend on what else the machine does.
rates=$(awk -v n="$executions" -v s="$seconds" '{ printf "%d a second, %d a second of processor time", n / s, n / ($1 + $2) }' \
  "$log.time")
say "fuzz: $target: no finding in $executions executions ($rates), $coverage edges covered"
