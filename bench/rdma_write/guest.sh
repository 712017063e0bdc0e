#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# ib_write_bw within one guest, by mlx4_ib on the modelled adapter and by Soft-RoCE (rdma_rxe on a
# veth interface), in turns. ROUNDS of 64 MiB each; prints the median of each in MB/s, and their
# ratio.
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

# measured DEVICE BYTES [OPTION...]: adds the average bandwidth to the file of the device and size.
measured() {
  measured_to=/run/figures-$1-$2
  measured_device=$1 measured_bytes=$2
  shift 2
  pair ib_write_bw -d "$measured_device" -F -m 4096 -s "$measured_bytes" -n $((67108864 / measured_bytes)) "$@"
  awk -v bytes="$measured_bytes" '$1 == bytes { print $4 }' /run/client >>"$measured_to"
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
  for bytes in 65536 1048576; do
    measured mlx4_0 $bytes
    # The GID of the interface's IPv4 address.
    measured rxe0 $bytes -x 1
  done
done
for bytes in 65536 1048576; do
  model=$(median /run/figures-mlx4_0-$bytes) peer=$(median /run/figures-rxe0-$bytes)
  awk -v b=$bytes -v m="$model" -v p="$peer" \
    'BEGIN { printf "ib_write_bw, %7d bytes: model %8.2f MB/s, Soft-RoCE %8.2f MB/s, ratio %.2f\n", b, m, p, m / p }'
done
rdma link delete rxe0
linux_down
log_clean || fail "the kernel's log"
no_complaints
