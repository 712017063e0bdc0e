#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# fuzz.sh driver|model|server|client|fabric|face|qemu [SECONDS [SEED]]: the driver against an
# adapter that lies, the model against a hostile guest and a hostile far end of its cable, either
# end of vfio-user against the other, ports of the fabric in shared memory against a peer that
# writes over it, the functions of libibverbs against a program that calls them with anything, or
# the glue between QEMU and the model by random actions, under sanitizers, for so many seconds
# (default 60). What all but the last learn is kept in the cache; an input that finds something is
# left in build/fuzz-findings. Without a SEED it is a new one, which is printed. What qemu does
# follows from its seed; what the others do, from theirs and from what they had learned before.
# fabric and face have threads, whose turns no seed decides.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
cd "$FREEHCA_ROOT"
[[ ${1:-} != corpus ]] || exec "$FREEHCA_ROOT/dev.d/fuzz_corpus.sh" "${@:2}"
target=${1:-} seconds=${2:-60} seed=${3:-}
folder=tests/fuzz
case $target in
  driver | model | qemu) ;;
  server | client) folder=tests/fuzz/vfio_user ;;
  fabric | face) folder=tests/fuzz/$target ;;
  *) die "fuzz: say what: driver, model, server, client, fabric, face or qemu" ;;
esac
[[ $seconds =~ ^[0-9]+$ && $seconds -gt 0 ]] || die "fuzz: '$seconds' is no number of seconds"
[[ $seed =~ ^[0-9]*$ ]] || die "fuzz: '$seed' is no seed, which is a number"
# Both fuzzers may be asked for at once: one builds after the other.
mkdir -p build/fuzz
exec 8>build/fuzz/lock
flock 8
need script build clang
step "fuzz: configure" cmake --preset fuzz || die "CMake fails"
if [[ $target == qemu ]]; then made=freehca_model; else made=freehca_${target}_fuzz; fi
step "fuzz: build" nice cmake --build --preset fuzz --target "$made" || die "it does not build"
flock -u 8

if [[ $target == qemu ]]; then
  binary=$FREEHCA_ROOT/build/fuzz/qemu/qemu-system-x86_64
  qemu/build/build.sh --sanitized "$(find build/fuzz -name libfreehca_model.a -print -quit)" "$binary" >/dev/null
  say "fuzz: qemu for $seconds s"
  log=$FREEHCA_LOGS/fuzz-qemu.log
  # QEMU itself gives much back only by ending.
  ASAN_OPTIONS=detect_leaks=0 /usr/bin/python3 -B tests/qom/fuzz_glue.py "$binary" --seconds "$seconds" \
    ${seed:+--seed "$seed"} >"$log" 2>&1 || {
    cat "$log" >&2
    die "fuzz: qemu: something was found; the log: $log; again: tests/qom/fuzz_glue.py $binary --seed S --episode N"
  }
  say "fuzz: qemu: $(tr '\n' ' ' <"$log")"
  exit 0
fi

# Of these inputs alone: another format has another folder.
learned=$FREEHCA_CACHE/fuzz/$target-2 findings=build/fuzz-findings/
mkdir -p "$learned" "$findings"
cache_lock "fuzz-$target"
log=$FREEHCA_LOGS/fuzz-$target.log status=0
# libFuzzer takes 0 for no seed.
[[ -n $seed ]] || seed=$((1 + (RANDOM << 15 | RANDOM)))
say "fuzz: $target for $seconds s, seed $seed"
# What follows which features are rare costs more than running an input does; what an input has
# allocated goes with the reset of its machine, so that there are no leaks to look for (the replay
# in ./dev test looks for them).
TIMEFORMAT='%U %S'
known=()
[[ ! -d $folder/${target}_inputs ]] || known+=("$folder/${target}_inputs")
unpacked=build/fuzz/${target}_corpus
rm -rf "$unpacked"
dev.d/fuzz_pack.py unpack "$folder/$target.corpus" "$unpacked"
known+=("$unpacked")
{ time "build/fuzz/$folder/freehca_${target}_fuzz" "-seed=$seed" "-max_total_time=$seconds" -max_len=512 -timeout=60 -entropic=0 \
  -detect_leaks=0 -rss_limit_mb=4096 "-artifact_prefix=$findings" -print_final_stats=1 \
  "$learned" "${known[@]}" >"$log" 2>&1 || status=$?; } 2>"$log.time"
if [[ $status -ne 0 ]]; then
  grep -E '^finding:|^arena:|ERROR|runtime error|SUMMARY|Test unit written' "$log" >&2 || tail -n 30 "$log" >&2
  die "fuzz: $target: something was found; the log: $log; seed $seed; again: build/fuzz/$folder/freehca_${target}_fuzz INPUT"
fi
executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
# By the clock, and by the time that a processor spent on it, which does not depend on what else the
# machine does.
rates=$(awk -v n="$executions" -v s="$seconds" '{ printf "%d a second, %d a second of processor time", n / s, n / ($1 + $2) }' \
  "$log.time")
say "fuzz: $target: no finding in $executions executions ($rates), $coverage edges covered"
