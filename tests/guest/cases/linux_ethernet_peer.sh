#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# An Ethernet port with Linux's own mlx4_core and mlx4_en on a hub with a network card of QEMU's
# own, which is in another network namespace: TCP both ways, lengths, MTUs, VLANs, IPv6, and what
# the port lets in and what not. With the steering of both kinds.
# options: --device mlx4,link1=eth,netdev1=net
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: -- -netdev hubport,id=net,hubid=0 -netdev hubport,id=peer-hub,hubid=0
# options: -device virtio-net-pci,netdev=peer-hub,mac=52:54:00:00:07:02,id=peer,romfile=
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh

# Also those that the port pads, and fragments.
lengths() {
  say "lengths"
  for length in 0 1 17 18 19 63 64 100 1471 1472 1473 4000 20000; do
    ping -c 2 -i 0.1 -W 5 -s $length 10.0.9.2 >/run/ping 2>&1 && grep -q ' 0% packet loss' /run/ping ||
      fail "ping with $length bytes: $(cat /run/ping)"
  done
}

mtus() {
  for mtu in 9000 1280 1500; do
    mtu_both $mtu
    ping -c 2 -i 0.1 -W 5 -s 8000 10.0.9.2 >/run/ping 2>&1 || fail "ping, MTU $mtu: $(cat /run/ping)"
    before=$(received rx_packets) before_bytes=$(received rx_bytes)
    copied_both_ways 10.0.9.1 10.0.9.2 4 "MTU $mtu"
    # Some cards have their figures two seconds later.
    wait_for 5 received_more "$before" $((4194304 / mtu)) ||
      fail "MTU $mtu: $(($(received rx_packets) - before)) packets for 4 MiB"
    average=$((($(received rx_bytes) - before_bytes) / ($(received rx_packets) - before)))
    say "MTU $mtu: packets of $average bytes on average"
    [ $average -le $((mtu + 18)) ] || fail "longer than the MTU"
    [ $average -ge $((mtu / 3)) ] || fail "the packets are short"
  done
}

vlans() {
  for tag in 5 4094; do
    modprobe 8021q || fail "modprobe 8021q"
    ip link add link "$interface" name vlan$tag type vlan id $tag && ip link set vlan$tag up &&
      ip addr add 10.0.10.1/24 dev vlan$tag || fail "VLAN $tag"
    ip -n far link add link peer name vlan$tag type vlan id $tag && ip -n far link set vlan$tag up &&
      ip -n far addr add 10.0.10.2/24 dev vlan$tag || fail "VLAN $tag of the peer"
    ping_far 10.0.10.2 "VLAN $tag"
    copied_both_ways 10.0.10.1 10.0.10.2 2 "VLAN $tag"
    rx_filter "\"vlan-table\": \[[^]]*\b$tag\b" || fail "VLAN $tag is not in the filter: $(cat /run/filter)"
    ip link del vlan$tag && ip -n far link del vlan$tag || fail "VLAN $tag does not go"
  done
}

ipv6() {
  ip -6 addr add fd00:9::1/64 dev "$interface" nodad && ip -n far -6 addr add fd00:9::2/64 dev peer nodad ||
    fail "IPv6"
  ping_far fd00:9::2 "IPv6"
  copied_both_ways fd00:9::1 fd00:9::2 2 "IPv6"
}

# answered ADDRESS: the namespace far gets an answer from a multicast or foreign address.
answered() { ip netns exec far ping -c 1 -W 1 -I peer "$1"; }

multicast() {
  say "multicast"
  echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_broadcasts
  group="01:00:5e:01:01:05"
  ip addr add 239.1.1.5/32 dev "$interface" autojoin || fail "239.1.1.5 is not joined"
  wait_for 10 answered 239.1.1.5 || fail "a member of a multicast group does not hear it"
  rx_filter "\"multicast-table\": \[[^]]*$group|\"multicast\": \"all\"" || fail "$group is not in the filter: $(cat /run/filter)"
  ip addr del 239.1.1.5/32 dev "$interface" || fail "239.1.1.5 is not left"
  ! answered 239.1.1.5 >/dev/null || fail "what has left a multicast group still answers"
  ip link set "$interface" allmulticast on && ip link set "$interface" allmulticast off || fail "all multicast"
}

# Packets to an address that is nobody's come in while the port is promiscuous, and only then.
foreign_packets() { ip netns exec far ping -c 40 -i 0.02 -W 1 10.0.9.99 >/dev/null 2>&1; }
promiscuous() {
  say "promiscuous"
  ip -n far neigh replace 10.0.9.99 lladdr 02:00:00:00:09:99 dev peer nud permanent || fail "a foreign neighbour"
  before=$(received rx_packets)
  foreign_packets
  sleep 3
  ! received_more "$before" 20 || fail "packets to a foreign address come in"
  ip link set "$interface" promisc on || fail "promisc on"
  rx_filter '"promiscuous": true' || fail "the filter is not promiscuous: $(cat /run/filter)"
  before=$(received rx_packets)
  foreign_packets
  wait_for 5 received_more "$before" 40 || fail "promiscuous, and packets to a foreign address do not come in"
  ip link set "$interface" promisc off || fail "promisc off"
  rx_filter '"promiscuous": false' || fail "the filter is still promiscuous: $(cat /run/filter)"
  before=$(received rx_packets)
  foreign_packets
  sleep 3
  ! received_more "$before" 20 || fail "packets to a foreign address still come in"
}

# A second unicast address of the port, as of a guest in a container; and another first one.
addresses() {
  say "addresses"
  ip link add link "$interface" name second address 02:00:00:00:09:03 type macvlan mode private &&
    ip link set second up && ip addr add 10.0.11.1/24 dev second || fail "a second address"
  ip -n far addr add 10.0.11.2/24 dev peer || fail "the peer's"
  ip netns exec far ping -c 3 -i 0.1 -W 5 10.0.11.1 >/run/ping 2>&1 || fail "the second address: $(cat /run/ping)"
  ip link del second || fail "the second address does not go"
  own=$(cat "/sys/class/net/$interface/address")
  ip link set "$interface" address 02:00:00:00:09:04 || fail "another address"
  ping_far 10.0.9.2 "by another address"
  rx_filter '"main-mac": "02:00:00:00:09:04"' || fail "the filter has another address: $(cat /run/filter)"
  ip link set "$interface" address "$own" || fail "its own address again"
  ping_far 10.0.9.2 "by its own address again"
}

all_listen() { [ "$(ip netns exec far ss -Hltn | grep -c ':600[1-8] ')" = 8 ]; }

# Several connections at once, so that all rings are used.
at_once() {
  say "eight connections at once"
  copy_file 2
  for connection in 1 2 3 4 5 6 7 8; do
    ip netns exec far nc -l -p $((6000 + connection)) -e md5sum &
  done
  wait_for 20 all_listen || fail "not all of the peer's listeners are there"
  for connection in 1 2 3 4 5 6 7 8; do
    timeout 100 nc 10.0.9.2 $((6000 + connection)) </run/file >/run/sum$connection &
  done
  wait
  for connection in 1 2 3 4 5 6 7 8; do
    [ "$(cat /run/sum$connection)" = "$(sum_of /run/file)" ] || fail "connection $connection: not what was sent"
  done
  rm /run/file
}

round() {
  say "round: $*"
  log_mark
  ethernet_up "$@"
  peer_up 10.0.9.2/24
  ip addr add 10.0.9.1/24 dev "$interface" || fail "an address"
  ping_far 10.0.9.2 "the peer"
  copied_both_ways 10.0.9.1 10.0.9.2 8 "$*"
  for part in $parts; do $part; done
  peer_down
  ethernet_down
  ethernet_clean
}

parts=${ETHERNET_PARTS:-"lengths mtus vlans ipv6 multicast promiscuous addresses at_once"}
round log_num_mgm_entry_size=10
round log_num_mgm_entry_size=-1
say "all done"
