#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The whole of perftest's matrix between two guests by RoCE v2 and v1 (linux_perftest.sh says what
# it is), and the pingpongs with events.
# options: --hosts 2 --device mlx4,link1=eth --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_perftest.sh:/guest/linux_perftest.sh
# options: --file tests/guest/linux_two_hosts.sh:/guest/linux_two_hosts.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: --file tests/guest/roce_traffic.sh:/guest/roce_traffic.sh
# tier: long
# timeout: 7200
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/linux_perftest.sh
. /guest/linux_perftest.sh
# shellcheck source=tests/guest/linux_two_hosts.sh
. /guest/linux_two_hosts.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh
# shellcheck source=tests/guest/roce_traffic.sh
. /guest/roce_traffic.sh

log_mark
# Frames that have room for a packet of 4096 bytes.
roce_up 4500
matrix_rows >/run/rows
say "$(wc -l </run/rows) runs to do, twice"
# shellcheck disable=SC2034 # read by matrix
matrix_bytes=$((8 << 20))
for type in "RoCE v2" "IB/RoCE v1"; do
  # shellcheck disable=SC2154 # from linux_two_hosts.sh
  find_gid mlx4_0 "$type" "$(ipv4_gid "10.0.1.$HOST_INDEX")"
  pingpongs -g "$gid" -n 100 -e
  # shellcheck disable=SC2034 # read by matrix
  matrix_options="-x $gid"
  matrix /run/rows
done
host sync "all done"
ethernet_down
ethernet_clean
say "all done"
