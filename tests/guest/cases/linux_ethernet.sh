#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# An Ethernet port with Linux's own mlx4_core and mlx4_en on QEMU's user network: DHCP, TCP to the
# host and back, what ethtool asks and sets, MTUs, IPv6, what the port is told to let in, the cable,
# and the drivers go again. With the steering of both kinds.
# options: --device mlx4,link1=eth,netdev1=net
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: -- -netdev "user,id=net,guestfwd=tcp:10.0.2.100:5001-cmd:sh -c 'tee FILE | md5sum',guestfwd=tcp:10.0.2.100:5002-cmd:cat FILE"
# again: device_server long --device-server --env "ETHERNET_PARTS=ethtool_asks ethtool_sets mtus ipv6"
# again: device_server_no_iommu long --device-server --no-iommu --env "ETHERNET_PARTS=ethtool_asks ethtool_sets mtus ipv6"
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh

ethtool_asks() {
  say "ethtool asks"
  driver=$ethernet_driver
  ! is_adapter || driver=mlx4_en
  tool "^driver: $driver\$" ethtool -i "$interface"
  tool "^bus-info: 0000:" ethtool -i "$interface"
  tool "Link detected: yes" ethtool "$interface"
  tool "^tx-checksumming: " ethtool -k "$interface"
  tool "^NIC statistics:" ethtool -S "$interface"
  tool "^Permanent address: [0-9a-f:]{17}$" ethtool -P "$interface"
  for asked in -g -l -c -a -T -x; do offered ethtool $asked "$interface"; done
  # QEMU's e1000 fails the test that its driver makes of it.
  ! is_adapter || tool "Laser wavelength +: 850nm" ethtool -m "$interface"
  ! is_adapter || tool "The test result is PASS" ethtool -t "$interface"
  wait_for 20 has_carrier "$interface" || fail "no carrier after ethtool's questions"
}

# Each makes mlx4_en take its rings down and up again, or changes what it asks of the adapter.
ethtool_sets() {
  say "ethtool sets"
  for set in "-G INTERFACE rx 512 tx 512" "-L INTERFACE rx 1 tx 1" "-L INTERFACE rx 2 tx 2" \
    "-K INTERFACE tso off gso off" "-K INTERFACE tx off rx off" "-K INTERFACE gro off rxvlan off txvlan off" \
    "-K INTERFACE tso on gso on tx on rx on gro on rxvlan on txvlan on" "-C INTERFACE rx-usecs 32" \
    "-A INTERFACE rx off tx off" "-A INTERFACE rx on tx on"; do
    # shellcheck disable=SC2086 # words
    offered ethtool ${set%% *} "$interface" ${set#* INTERFACE }
    wait_for 20 has_carrier "$interface" || fail "no carrier after ethtool $set"
    copied_to_user_network 1 "ethtool $set"
  done
}

mtus() {
  for mtu in 9000 1280 1500; do
    ip link set "$interface" mtu $mtu || fail "MTU $mtu"
    wait_for 20 has_carrier "$interface" || fail "no carrier with MTU $mtu"
    copied_to_user_network 2 "MTU $mtu"
  done
}

has_ipv6() { ip -6 addr show dev "$interface" | grep -q 'inet6 fec0::'; }
ipv6() {
  wait_for 30 has_ipv6 || fail "no IPv6 address from the router: $(ip -6 addr show dev "$interface")"
  ping_far fec0::2 "the gateway, IPv6"
}

# What comes in is the business of linux_ethernet_peer.sh; here QEMU knows what the port was told.
filters() {
  say "filters"
  rx_filter "\"main-mac\": \"$(cat "/sys/class/net/$interface/address")\"" || fail "another address: $(cat /run/filter)"
  ip link set "$interface" promisc on && ip link set "$interface" allmulticast on || fail "promiscuous"
  rx_filter '"promiscuous": true' || fail "the filter is not promiscuous: $(cat /run/filter)"
  copied_to_user_network 1 "promiscuous"
  ip link set "$interface" promisc off && ip link set "$interface" allmulticast off || fail "not promiscuous"
  rx_filter '"promiscuous": false' || fail "the filter is still promiscuous: $(cat /run/filter)"
  group="01:00:5e:01:01:05"
  ip addr add 239.1.1.5/32 dev "$interface" autojoin || fail "239.1.1.5 is not joined"
  rx_filter "\"multicast-table\": \[[^]]*$group|\"multicast\": \"all\"" || fail "$group is not in the filter: $(cat /run/filter)"
  ip addr del 239.1.1.5/32 dev "$interface" || fail "239.1.1.5 is not left"
  copied_to_user_network 1 "after that"
}

cable() {
  say "the cable, and the interface, down and up"
  for up in false true false true; do
    host qmp '{"execute": "set_link", "arguments": {"name": "net", "up": '$up'}}' >/dev/null || fail "set_link"
    carrier=has_carrier
    [ $up = true ] || carrier=has_no_carrier
    wait_for 20 $carrier "$interface" || fail "the cable: $up, and the interface: $(ip link show "$interface")"
  done
  for times in 1 2 3; do
    ip link set "$interface" down || fail "down"
    ! ping -c 1 -W 1 10.0.2.2 >/dev/null 2>&1 || fail "there is an answer, and the interface is down"
    ethernet_open
    ping_far 10.0.2.2 "up again, $times"
  done
}

round() {
  say "round: $*"
  log_mark
  ethernet_up "$@"
  dhcp
  ping_far 10.0.2.2 "the gateway"
  copied_to_user_network 16 "$*"
  for part in $parts; do $part; done
  dhcp
  copied_to_user_network 1 "at the end"
  ethernet_down
  ethernet_clean
}

parts=${ETHERNET_PARTS:-"ethtool_asks ethtool_sets mtus ipv6 filters cable"}
round log_num_mgm_entry_size=10
round log_num_mgm_entry_size=-1
say "all done"
