#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# RDMA writes within one guest, by mlx4_ib on the modelled adapter and by Soft-RoCE (rdma_rxe on a
# veth interface), in turns: ib_write_bw with messages of 64 bytes, 64 KiB and 1 MiB, ib_write_lat
# with 64 bytes, and the same between the queue pairs of one process (one_process.cpp). ROUNDS of
# each; prints the medians, and their ratio.
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

# bandwidth DEVICE BYTES MESSAGES [OPTION...]: adds the average, in MB/s, to the figures.
bandwidth() {
  bandwidth_to=/run/figures-$1-$2
  bandwidth_device=$1 bandwidth_bytes=$2 bandwidth_messages=$3
  shift 3
  pair ib_write_bw -d "$bandwidth_device" -F -m 4096 -s "$bandwidth_bytes" -n "$bandwidth_messages" "$@"
  awk -v bytes="$bandwidth_bytes" '$1 == bytes { print $4 }' /run/client >>"$bandwidth_to"
}

# latency DEVICE [OPTION...]: adds the typical latency, in microseconds, to the figures.
latency() {
  latency_device=$1
  shift
  pair ib_write_lat -d "$latency_device" -F -m 4096 -s 64 -n 5000 "$@"
  awk '$1 == 64 { print $5 }' /run/client >>"/run/figures-$latency_device-latency"
}

# one_process DEVICE GID_INDEX: adds the median latency, in microseconds, to the figures.
one_process() {
  freehca_bench_one_process "$1" "$2" 5000 >/run/one_process || fail "one_process $1"
  say "one_process $1: $(cat /run/one_process)"
  cat /run/one_process >>"/run/figures-$1-one-process"
}

median() { sort -n "$1" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

log_mark
linux_up
modprobe rdma_rxe && modprobe veth || fail "modprobe rdma_rxe veth"
ip link add soft0 type veth peer name soft1 && ip link set soft0 mtu 9000 && ip link set soft1 mtu 9000 up || fail "veth"
ip link set soft0 up && ip addr add 10.9.0.1/24 dev soft0 || fail "soft0"
rdma link add rxe0 type rxe netdev soft0 || fail "rxe0"
for round in $(seq "${ROUNDS:-3}"); do
  say "round $round"
  for size in "64 40000" "65536 2048" "1048576 256"; do
    # shellcheck disable=SC2086 # bytes and messages
    bandwidth mlx4_0 $size
    # The GID of the interface's IPv4 address.
    # shellcheck disable=SC2086 # bytes and messages
    bandwidth rxe0 $size -x 1
  done
  latency mlx4_0
  latency rxe0 -x 1
  one_process mlx4_0 0
  one_process rxe0 1
done
# compare WHAT UNIT FIGURES: the medians of both, and their ratio.
compare() {
  awk -v what="$1" -v unit="$2" -v model="$(median "/run/figures-mlx4_0-$3")" \
    -v peer="$(median "/run/figures-rxe0-$3")" 'BEGIN {
      form = "%s: model %8.2f %s Soft-RoCE %8.2f %s ratio %.2f\n"
      printf form, what, model, unit, peer, unit, model / peer
    }'
}
for bytes in 64 65536 1048576; do
  compare "$(printf 'ib_write_bw, %7d bytes' $bytes)" "MB/s," $bytes
done
compare "ib_write_lat,     64 bytes" "us,  " latency
compare "in one process,   64 bytes" "us,  " one-process
rdma link delete rxe0
linux_down
log_clean || fail "the kernel's log"
no_complaints
