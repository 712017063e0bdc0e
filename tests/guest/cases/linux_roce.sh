#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests whose adapters have an Ethernet port each, cabled to each other: RDMA by Linux's own
# mlx4_ib, by RoCE v1 and v2, over IPv4 and IPv6; then the second host's driver gives way to
# Soft-RoCE on the same port, and both talk RoCE v2.
# options: --hosts 2 --device mlx4,link1=eth --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_two_hosts.sh:/guest/linux_two_hosts.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# timeout: 900
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/linux_two_hosts.sh
. /guest/linux_two_hosts.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh

# neighbour ADDRESS: it is known, and stays so. Traffic of RDMA does not tell the kernel that a
# neighbour is there, and when a queue pair is connected the kernel has one second to find it.
neighbour() {
  ping_far "$1" "the other host"
  link_address=$(ip neigh show "$1" dev "$interface" | sed -n 's/.*lladdr \([0-9a-f:]*\).*/\1/p')
  ip neigh replace "$1" lladdr "$link_address" dev "$interface" nud permanent || fail "neighbour $1"
}

# with_gid DEVICE TYPE PATTERN SERVICES RUNS: the list of RDMA by that GID.
with_gid() {
  wait_for 20 gid_index "$1" 1 "$2" "$3" || fail "$1 has no GID $3, $2"
  gid=$(gid_index "$1" 1 "$2" "$3")
  say "$1, $2, GID $gid: $(cat "/sys/class/infiniband/$1/ports/1/gids/$gid")"
  for service in $4; do
    pair "ibv_${service}_pingpong" -d "$1" -g "$gid" -n 100 -c
  done
  for run in $5; do
    case $run in
      send_bw_UD) pair ib_send_bw -c UD -d "$1" -x "$gid" -F -s 512 -n 100 ;;
      atomic_bw) pair ib_atomic_bw -d "$1" -x "$gid" -F -n 100 ;;
      *) pair "ib_$run" -d "$1" -x "$gid" -F -s 65536 -n 100 ;;
    esac
  done
}

# connect PATTERN SERVER... -- CLIENT...: both end well, and the client's output has the pattern.
connect() {
  connect_pattern=$1
  shift
  both "$@" || fail "$*: $(cat /run/server /run/client)"
  [ "$HOST_INDEX" = 1 ] || grep -q -- "$connect_pattern" /run/client || fail "$*: $(cat /run/client)"
  say "$*"
}

# There is no subnet to know the group: this host's own table of IGMP has it.
mckey_joined() { grep -q 050100E0 /proc/net/igmp; }

port_up() { grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"; }

log_mark
# libmlx4 gives a datagram the number that the kernel's table has for a GID, and mlx4_ib's own table
# leaves out what is there twice, as the address of the link can be: without one both agree.
echo 1 >/proc/sys/net/ipv6/conf/default/addr_gen_mode || fail "addr_gen_mode"
ethernet_up
modprobe mlx4_ib && modprobe ib_uverbs && modprobe rdma_ucm || fail "modprobe mlx4_ib"
wait_for 20 port_up mlx4_0 || fail "mlx4_0 is not active: $(ibv_devinfo -v)"
ip addr add "10.0.1.$HOST_INDEX/24" dev "$interface" && ip -6 addr add "fd00:1::$HOST_INDEX/64" dev "$interface" nodad ||
  fail "addresses"
host sync addresses
neighbour "10.0.1.$other"
neighbour "fd00:1::$other"
host sync neighbours

all_services="rc uc ud srq"
all_runs="send_bw write_bw read_bw send_bw_UD atomic_bw"
four="0000:0000:0000:0000:0000:ffff:0a00:010$HOST_INDEX"
with_gid mlx4_0 "RoCE v2" "$four" "$all_services" "$all_runs"
with_gid mlx4_0 "IB/RoCE v1" "$four" "$all_services" "$all_runs"
with_gid mlx4_0 "RoCE v2" "^fd00:0001" "$all_services" "write_bw send_bw_UD"
connect "rdma-ping-19" rping -s -a 10.0.1.1 -C 20 -S 4096 -V -- rping -c -a 10.0.1.1 -C 20 -S 4096 -V -v
connect "rdma-ping-19" rping -s -a fd00:1::1 -C 20 -S 4096 -V -- rping -c -a fd00:1::1 -C 20 -S 4096 -V -v
connect "return status 0" ucmatose -b 10.0.1.1 -c 4 -C 20 -S 4096 -- ucmatose -s 10.0.1.1 -c 4 -C 20 -S 4096
connect "return status 0" udaddy -b 10.0.1.1 -c 4 -C 20 -S 1000 -- udaddy -s 10.0.1.1 -c 4 -C 20 -S 1000
connect "return status 0" mckey -m 224.0.1.5 -b 10.0.1.1 -- mckey -m 224.0.1.5 -b 10.0.1.2 -s

say "host 2 speaks by Soft-RoCE"
peer=mlx4_0
if [ "$HOST_INDEX" = 2 ]; then
  modprobe -r mlx4_ib || fail "modprobe -r mlx4_ib"
  modprobe rdma_rxe && rdma link add rxe0 type rxe netdev "$interface" || fail "rxe0"
  wait_for 20 port_up rxe0 || fail "rxe0 is not active"
  peer=rxe0
fi
host sync "Soft-RoCE"
with_gid $peer "RoCE v2" "$four" "rc ud" "write_bw read_bw send_bw atomic_bw"
connect "rdma-ping-19" rping -s -a 10.0.1.1 -C 20 -S 4096 -V -- rping -c -a 10.0.1.1 -C 20 -S 4096 -V -v
host sync "all done"
[ "$HOST_INDEX" = 1 ] || rdma link delete rxe0
ethernet_down
ethernet_clean
say "all done"
