#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# A VPI port and an Ethernet port in one adapter, with Linux's own drivers: RDMA by InfiniBand on
# port 1, DHCP, TCP and RoCE on port 2. Then port 1 becomes Ethernet and InfiniBand again by sysfs,
# ten times, with traffic after each change; and sensing finds the built-in subnet manager.
# options: --device mlx4,link1=vpi-ib,link2=eth,netdev2=net
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: -- -netdev "user,id=net,guestfwd=tcp:10.0.2.100:5001-cmd:sh -c 'tee FILE | md5sum',guestfwd=tcp:10.0.2.100:5002-cmd:cat FILE"
# again: device_server long --device-server
# tier: long
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh

# by_infiniband SERVICES: on port 1.
by_infiniband() {
  wait_for 20 port_active mlx4_0 1 || fail "port 1 is not active: $(ibv_devinfo -v)"
  grep -q InfiniBand /sys/class/infiniband/mlx4_0/ports/1/link_layer || fail "port 1 is not InfiniBand"
  for service in $1; do pair "ibv_${service}_pingpong" -d mlx4_0 -i 1 -n 100 -c; done
  pair ib_write_bw -d mlx4_0 -i 1 -F -s 65536 -n 100
}

# by_ethernet MIB SERVICES: on port 2.
by_ethernet() {
  wait_for 20 ethernet_find 2 || fail "port 2 has no interface: $(ip link)"
  ethernet_open
  dhcp
  ping_far 10.0.2.2 "the gateway"
  copied_to_user_network "$1" "port 2"
  wait_for 20 gid_index mlx4_0 2 "RoCE v2" 0a00:020f || fail "port 2 has no GID of its address"
  gid=$(gid_index mlx4_0 2 "RoCE v2" 0a00:020f)
  for service in $2; do pair "ibv_${service}_pingpong" -d mlx4_0 -i 2 -g "$gid" -n 100 -c; done
  pair ib_write_bw -d mlx4_0 -i 2 -x "$gid" -F -s 65536 -n 100
}

# Nobody at the far end of port 1 speaks Ethernet.
port_1_is_ethernet() {
  wait_for 20 ethernet_find 1 || fail "port 1 has no interface: $(ip link)"
  grep -q Ethernet /sys/class/infiniband/mlx4_0/ports/1/link_layer || fail "port 1 is not Ethernet"
  ip link set "$interface" up || fail "$interface does not go up"
  sleep 1
  has_no_carrier "$interface" || fail "$interface has a carrier"
}

log_mark
modprobe mlx4_core && modprobe mlx4_en && modprobe mlx4_ib || fail "modprobe"
modprobe ib_uverbs && modprobe ib_umad || fail "the modules of the user's side"
by_infiniband "rc uc ud srq"
by_ethernet 16 "rc uc ud srq"
for times in 1 2 3 4 5 6 7 8 9 10; do
  say "back and forth, $times"
  port_becomes eth
  port_1_is_ethernet
  by_ethernet 1 "rc"
  port_becomes ib
  by_infiniband "rc ud"
done
port_becomes auto "auto (ib)"
by_infiniband "rc"
port_becomes eth
port_1_is_ethernet
port_becomes auto "auto (ib)"
by_infiniband "rc"
by_ethernet 1 "rc"
linux_down
log_clean || fail "the kernel's log"
no_complaints
say "all done"
