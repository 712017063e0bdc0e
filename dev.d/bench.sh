#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# bench.sh WHAT [OPTION...]: builds and runs a measurement.
#   commands [--in-process] [--queue-pairs N] [--json FILE]
#     what many firmware commands in flight bring: in process, in virtual time; then, unless
#     --in-process, in the test guest, against Linux's mlx4_ib. With --in-process also
#     --at-a-time N, --latency-ns N, --post-ns N.
#   context_memory [--queue-pairs N] [--alive N] [--seed N]
#     how closely lent memory follows the queue pairs that are alive, in process
#   driver [--runs N] [--json FILE] [--svg FILE] [--check]
#     instructions that our driver over VFIO and libmlx4 over mlx4_ib take for the same work, in one
#     guest, with their ratio; the exit status is 0, or, with --check, 1 if a bound is missed
#   frames [--runs N] [--check]
#     instructions that our network interface over VFIO and a program on libdpdk take to send and
#     receive the same Ethernet frames, in one guest, with their ratio; the exit status is 0, or,
#     with --check, 1 if a bound is missed
#   lateness [--seconds N]
#     how late a timer of the test guest is while another process has the adapter do what costs it
#     most, and while it is idle
#   programs [--runs N] [--json FILE] [--check]
#     what Debian's perftest reaches between two processes on the preloaded library, beside plain
#     shared memory, memcpy() and UCX over TCP, and instructions of a post and a poll beside
#     libmlx4's; the exit status is 0, or, with --check, 1 if the bound of the latency is missed
#   rdma_write [--rounds N] [--device-server [--doorbells messages|polled]]
#     RDMA writes of 64 bytes, 64 KiB and 1 MiB in the test guest, and the latency of 64 bytes,
#     between two processes and within one, by Linux's mlx4_ib on the model against Soft-RoCE; with
#     --device-server the model is a process of its own, and QEMU that of Debian's trixie-backports
#   saved_state [--queue-pairs N] [--runs N] [--check]
#     how long the model takes to save and to load its state with connected queue pairs, in process,
#     and how large that is; the exit status is 0, or, with --check, 1 if a bound is missed
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
case ${1:-} in
  commands) known=' --in-process --queue-pairs --json --at-a-time --latency-ns --post-ns ' ;;
  context_memory) known=' --queue-pairs --alive --seed ' ;;
  driver) known=' --runs --json --svg --check ' ;;
  frames) known=' --runs --check ' ;;
  lateness) known=' --seconds ' ;;
  programs) known=' --runs --json --check ' ;;
  rdma_write) known=' --rounds --device-server --doorbells ' ;;
  saved_state) known=' --queue-pairs --runs --check ' ;;
  '') die "bench: say which one: commands, context_memory, driver, frames, lateness, programs, rdma_write, saved_state" ;;
  *) die "bench: there is no measurement '$1'; there are: commands, context_memory, driver, frames, lateness, programs, rdma_write, saved_state" ;;
esac
what=$1
shift

declare -A given=()
while [[ $# -gt 0 ]]; do
  [[ $1 != --*=* ]] || set -- "${1%%=*}" "${1#*=}" "${@:2}"
  [[ $known == *" $1 "* ]] || die "bench $what: no option '$1'; there are:$known(--help says more)"
  [[ ! -v given[$1] ]] || die "bench $what: $1 is given twice"
  if [[ $1 == --in-process || $1 == --device-server || $1 == --check ]]; then
    given[$1]=yes
    shift
  else
    [[ $# -gt 1 ]] || die "bench $what: $1 wants a value"
    given[$1]=$2
    shift 2
  fi
done
if [[ $what == commands && ! -v given[--in-process] ]]; then
  for option in --at-a-time --latency-ns --post-ns; do
    [[ ! -v given[$option] ]] || die "bench commands: $option is not for the part in the guest; add --in-process"
  done
fi
if [[ $what == rdma_write ]]; then
  rounds=${given[--rounds]:-3}
  [[ $rounds =~ ^[1-9][0-9]?$ ]] || die "bench rdma_write: --rounds is a number from 1 to 99"
  doorbells=${given[--doorbells]:-messages}
  [[ $doorbells == messages || $doorbells == polled ]] ||
    die "bench rdma_write: --doorbells is messages or polled"
  [[ -v given[--device-server] || ! -v given[--doorbells] ]] ||
    die "bench rdma_write: --doorbells needs --device-server"
  cd "$FREEHCA_ROOT"
  need script build
  step "bench: configure" cmake --preset host || die "CMake fails"
  programs=(freehca_bench_one_process)
  [[ ! -v given[--device-server] ]] || programs+=(freehca-device)
  step "bench: build ${programs[*]}" nice cmake --build --preset host --target "${programs[@]}" ||
    die "the programs do not build"
  "$FREEHCA_ROOT/dev" guest --prepare
  server=()
  [[ ! -v given[--device-server] ]] || server=(--device-server --device "mlx4,doorbells=$doorbells")
  exec "$FREEHCA_ROOT/dev" guest "${server[@]}" --script bench/rdma_write/guest.sh \
    --env "ROUNDS=$rounds" --timeout $((60 + rounds * 120)) --program freehca_bench_one_process \
    --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
fi
if [[ $what == lateness ]]; then
  seconds=${given[--seconds]:-10}
  [[ $seconds =~ ^[1-9][0-9]?$ ]] || die "bench lateness: --seconds is a number from 1 to 99"
  cd "$FREEHCA_ROOT"
  need script build
  step "bench: configure" cmake --preset host || die "CMake fails"
  step "bench: build the timer" nice cmake --build --preset host --target freehca_bench_timer_lateness ||
    die "the timer does not build"
  "$FREEHCA_ROOT/dev" guest --prepare
  exec "$FREEHCA_ROOT/dev" guest --script bench/lateness/guest.sh --smp 1 --env "SECONDS_EACH=$seconds" \
    --program freehca_bench_timer_lateness --timeout $((180 + seconds * 15)) \
    --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
fi
if [[ $what == programs ]]; then
  runs=${given[--runs]:-3}
  [[ $runs =~ ^[1-9]$ ]] || die "bench programs: --runs is a number from 1 to 9"
  options=(--runs "$runs")
  [[ ! -v given[--check] ]] || options+=(--check)
  [[ ! -v given[--json] ]] || options+=(--json "$(realpath -m "${given[--json]}")")
  cd "$FREEHCA_ROOT"
  need script build programs
  programs=(freehca-run freehca-verbs
    freehca_bench_ping_pong freehca_bench_copy freehca_bench_verbs_calls)
  step "bench: configure" cmake --preset host || die "CMake fails"
  step "bench: build ${programs[*]}" nice cmake --build --preset host --target "${programs[@]}" ||
    die "the programs do not build"
  exec /usr/bin/python3 -B bench/programs/measure.py "${options[@]}" build/host
fi
if [[ $what == driver || $what == frames ]]; then
  runs=${given[--runs]:-3}
  [[ $runs =~ ^[1-9]$ ]] || die "bench $what: --runs is a number from 1 to 9"
  options=()
  for option in --json --svg; do
    [[ ! -v given[$option] ]] || options+=("$option" "$(realpath -m "${given[$option]}")")
  done
  [[ ! -v given[--check] ]] || options+=(--check)
  cd "$FREEHCA_ROOT"
  peer=linux groups=(script build)
  [[ $what == driver ]] || peer=dpdk groups+=(dpdk)
  need "${groups[@]}"
  programs=("freehca_bench_${what}_vfio" "freehca_bench_${what}_$peer")
  step "bench: configure" cmake --preset host || die "CMake fails"
  step "bench: build both programs" nice cmake --build --preset host --target "${programs[@]}" ||
    die "the programs do not build"
  "$FREEHCA_ROOT/dev" guest --prepare
  case=tests/guest/cases/bench_$what.sh
  mapfile -t how < <(sed -n 's/^# options: //p' "$case" | xargs -n 1)
  step "bench: guest" "$FREEHCA_ROOT/dev" guest --script "$case" --env "RUNS=$runs" \
    --timeout $((120 + runs * 300)) --program "${programs[0]}" --program "${programs[1]}" \
    "${how[@]}" || die "the measurement in the guest failed"
  exec /usr/bin/python3 -B "bench/$what/compare.py" "$FREEHCA_LOGS/bench-guest.log" "${options[@]}"
fi
in_process=${given[--in-process]:-no}
unset 'given[--in-process]'
json=
if [[ -v given[--json] ]]; then
  json=$(realpath -m "${given[--json]}")
  given[--json]=$json
fi
[[ $what != commands ]] || given[--queue-pairs]=${given[--queue-pairs]:-4096}
queue_pairs=${given[--queue-pairs]:-}
options=()
for option in "${!given[@]}"; do
  if [[ $option == --check ]]; then options+=(--check); else options+=("$option" "${given[$option]}"); fi
done

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
