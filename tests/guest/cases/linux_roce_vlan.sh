#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests whose adapters have an Ethernet port each, cabled to each other: RoCE v1 and v2 by
# Linux's own mlx4_ib in VLANs, whose priority follows the service level and, for rdma_cm, the type
# of service; then against Soft-RoCE. The tags stand in the frames.
# options: --hosts 2 --device mlx4,link1=eth,capture1=FILE.HOST --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_two_hosts.sh:/guest/linux_two_hosts.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: --file tests/guest/roce_traffic.sh:/guest/roce_traffic.sh
# then: tests/guest/check_frames.py --kinds tests/guest/kinds/roce_vlan.txt FILE.1
# tier: long
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/linux_two_hosts.sh
. /guest/linux_two_hosts.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh
# shellcheck source=tests/guest/roce_traffic.sh
. /guest/roce_traffic.sh

# vlan IDENTIFIER NETWORK: the kernel's own priority 0 is 3 in the tag, and that of interactive
# traffic, which is 6, is 5.
vlan() {
  ip link add link "$interface" name "vlan$1" type vlan id "$1" egress-qos-map 0:3 6:5 &&
    ip link set "vlan$1" up || fail "VLAN $1"
  roce_addresses "vlan$1" "$2"
}

# connects NETWORK: each program of rdma_cm there. Type of service 0x10 is interactive (Linux
# route.h `rt_tos2priority`).
connects() {
  for address in "10.0.$1.1" "fd00:$1::1"; do
    connect "rdma-ping-19" rping -s -a "$address" -C 20 -S 4096 -V -- rping -c -a "$address" -C 20 -S 4096 -V -v
  done
  for program in ucmatose udaddy; do
    connect "return status 0" $program -b "10.0.$1.1" -c 4 -C 20 -S 1000 -t 0x10 -- $program -s "10.0.$1.1" -c 4 -C 20 -S 1000 -t 0x10
  done
  connect "return status 0" mckey -m 224.0.1.5 -b "10.0.$1.1" -- mckey -m 224.0.1.5 -b "10.0.$1.2" -s
}

log_mark
roce_up
modprobe 8021q || fail "modprobe 8021q"
vlan 7 7
# The highest one.
vlan 4094 8
four=$(ipv4_gid "10.0.7.$HOST_INDEX")
other_four=$(ipv4_gid "10.0.8.$HOST_INDEX")
with_gid mlx4_0 "RoCE v2" "$four" "rc uc ud srq xsrq" "write_bw send_bw_UD" 4
with_gid mlx4_0 "RoCE v2" "$four" "rc ud" "read_bw atomic_bw"
with_gid mlx4_0 "IB/RoCE v1" "$four" "rc uc ud srq" "write_bw send_bw_UD atomic_bw" 7
with_gid mlx4_0 "RoCE v2" "^fd00:0007" "rc ud" "write_bw" 1
with_gid mlx4_0 "RoCE v2" "$other_four" "rc ud" "write_bw" 2
# What has no tag does not get one beside them.
with_gid mlx4_0 "RoCE v2" "$(ipv4_gid "10.0.1.$HOST_INDEX")" "rc ud" ""
connects 7

say "host 2 speaks by Soft-RoCE"
peer=mlx4_0
if [ "$HOST_INDEX" = 2 ]; then
  soft_roce_up
  peer=rxe0
fi
host sync "Soft-RoCE"
with_gid $peer "RoCE v2" "$four" "rc ud" "write_bw read_bw" 4
host sync "all done"
[ "$HOST_INDEX" = 1 ] || rdma link delete rxe0
ip link del vlan7 && ip link del vlan4094 || fail "the VLANs do not go"
ethernet_down
ethernet_clean
say "all done"
