#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests whose VPI ports are cabled to each other, with Linux's own drivers. Ten times both
# become InfiniBand, with OpenSM in the first, and then Ethernet; after each change TCP and RDMA
# cross the cable.
# options: --hosts 2 --device mlx4,link1=vpi-ib --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_two_hosts.sh:/guest/linux_two_hosts.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# again: device_server long --device-server
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

by_infiniband() {
  ibstat mlx4_0 1 | sed -n 's/.*Port GUID: //p' >/run/port-guid
  host sync "ib, $times"
  [ "$HOST_INDEX" = 2 ] || opensm_start 1
  wait_for 30 port_active mlx4_0 1 || fail "port 1 is not active: $(ibstat mlx4_0 1; cat /run/opensm.out)"
  ipoib_up ib0 "10.0.1.$HOST_INDEX"
  host sync "addresses, $times"
  ping_far "10.0.1.$other" "InfiniBand, $times"
  copied_between_hosts 10.0.1.1 10.0.1.2 1 "InfiniBand, $times"
  for service in rc ud; do pair "ibv_${service}_pingpong" -d mlx4_0 -n 100 -c; done
  pair ib_write_bw -d mlx4_0 -F -s 65536 -n 100
  host sync "enough of ib, $times"
  [ "$HOST_INDEX" = 2 ] || opensm_stop
}

by_ethernet() {
  wait_for 20 ethernet_find 1 || fail "port 1 has no interface: $(ip link)"
  ethernet_open
  ip addr add "10.0.1.$HOST_INDEX/24" dev "$interface" || fail "$interface: its address"
  host sync "eth, $times"
  ping_far "10.0.1.$other" "Ethernet, $times"
  copied_between_hosts 10.0.1.1 10.0.1.2 1 "Ethernet, $times"
  four="0000:0000:0000:0000:0000:ffff:0a00:010$HOST_INDEX"
  wait_for 20 gid_index mlx4_0 1 "RoCE v2" "$four" || fail "no GID $four"
  gid=$(gid_index mlx4_0 1 "RoCE v2" "$four")
  for service in rc ud; do pair "ibv_${service}_pingpong" -d mlx4_0 -g "$gid" -n 100 -c; done
  pair ib_write_bw -d mlx4_0 -x "$gid" -F -s 65536 -n 100
  host sync "enough of eth, $times"
}

log_mark
# libmlx4's numbers of GIDs are the kernel's without the address of the link (linux_roce.sh).
echo 1 >/proc/sys/net/ipv6/conf/default/addr_gen_mode || fail "addr_gen_mode"
modprobe mlx4_core && modprobe mlx4_ib && modprobe mlx4_en || fail "modprobe"
modprobe ib_uverbs && modprobe ib_umad || fail "the modules of the user's side"
wait_for 10 [ -e $device ] || fail "no device mlx4_0"
for times in 1 2 3 4 5 6 7 8 9 10; do
  say "back and forth, $times"
  by_infiniband
  port_becomes eth
  by_ethernet
  port_becomes ib
done
by_infiniband
host sync "all done"
linux_down
log_clean || fail "the kernel's log"
no_complaints
say "all done"
