#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# bench.sh WHAT [OPTION...]: builds and runs a measurement; the options are its own.
#   commands [--in-process] [--queue-pairs N] [--json FILE]: what many firmware commands in flight bring: in process, in
#     virtual time; then, unless --in-process, in the test guest, against Linux's mlx4_ib
#   context_memory: how closely lent memory follows the queue pairs that are alive, in process
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
case ${1:-} in
  commands | context_memory) what=$1 ;;
  '') die "bench: say which one: commands, context_memory" ;;
  *) die "bench: there is no measurement '$1'; there are: commands, context_memory" ;;
esac
shift

in_process=no json='' queue_pairs=4096
options=()
while [[ $# -gt 0 ]]; do
  case $what:$1 in
    commands:--in-process) in_process=yes; shift ;;
    commands:--json) json=$(realpath -m "${2:?--json wants a file}"); shift 2 ;;
    commands:--queue-pairs) queue_pairs=${2:?--queue-pairs wants a number}; shift 2 ;;
    *) options+=("$1"); shift ;;
  esac
done
[[ $what == commands ]] && options+=(--queue-pairs "$queue_pairs" ${json:+--json "$json"})

cd "$FREEHCA_ROOT"
need script build
programs=("freehca_bench_$what")
[[ $what == commands && $in_process == no ]] && programs+=(freehca_bench_commands_vfio freehca_bench_commands_linux)
step "bench: configure" cmake --preset host || die "CMake fails"
step "bench: build $what" nice cmake --build --preset host --target "${programs[@]}" || die "the programs do not build"
"build/host/bench/$what/freehca_bench_$what" "${options[@]}"
[[ ${#programs[@]} -gt 1 ]] || exit 0

"$FREEHCA_ROOT/dev" guest --prepare
say "bench: $queue_pairs queue pairs in the guest, by mlx4_ib and by this driver"
case=tests/guest/cases/bench_commands.sh
mapfile -t how < <(sed -n 's/^# options: //p' "$case" | xargs -n 1)
step "bench: guest" "$FREEHCA_ROOT/dev" guest --script "$case" --env "QUEUE_PAIRS=$queue_pairs" --timeout 900 \
  --program freehca_bench_commands_linux --program freehca_bench_commands_vfio "${how[@]}" ||
  die "the measurement in the guest failed"
exec /usr/bin/python3 -B bench/commands/compare.py "$FREEHCA_LOGS/bench-guest.log" ${json:+"$json"}
