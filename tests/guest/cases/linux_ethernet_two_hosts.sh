#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests whose adapters have an Ethernet port each, cabled to each other, with Linux's own
# drivers: TCP with both usual MTUs, in a VLAN, in VXLAN, over IPv6, and after the cable was pulled
# and plugged in; datagrams of UDP. All that passed the first one's port decodes, and its checksums
# are right.
# options: --hosts 2 --device mlx4,link1=eth,capture1=FILE.HOST --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# then: tests/guest/check_frames.py --kinds tests/guest/kinds/ethernet.txt FILE.1
# again: device_server long --device-server
# again: polled long --device-server --device mlx4,link1=eth,capture1=FILE.HOST,doorbells=polled
# again: bridge long --switch eth
# again: device_server_no_iommu long --device-server --no-iommu
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh
other=$((3 - HOST_INDEX))

# network INTERFACE PREFIX: this host's address there, up on both hosts.
network() {
  ip link set "$1" up && ip addr add "$2.$HOST_INDEX/24" dev "$1" || fail "$1: its address"
  host sync "$1"
  ping_far "$2.$other" "$1"
}

# udp COUNTER: of UDP, from the kernel's table. IPv6 has another one.
udp() {
  awk -v name="$1" '/^Udp:/ && column { print $column }
    /^Udp:/ { for (i = 2; i <= NF; i++) if ($i == name) column = i }' /proc/net/snmp
}
udp6() { awk -v name="Udp6$1" '$1 == name { print $2 }' /proc/net/snmp6; }

# datagrams udp|udp6 OTHER: questions by UDP that nobody expects at the other host, where the kernel
# counts only those whose checksum is right. Then long packets of ICMP, which go in fragments.
datagrams() {
  before=$($1 NoPorts)
  host sync "datagrams"
  timeout 10 nslookup -type=a example "$2" >/dev/null 2>&1
  host sync "datagrams sent"
  [ "$($1 NoPorts)" -gt "$before" ] || fail "no datagrams, $1"
  [ "$($1 InCsumErrors)" = 0 ] || fail "wrong checksums, $1: $($1 InCsumErrors)"
  say "$(($($1 NoPorts) - before)) datagrams, $1"
  ping -c 3 -i 0.1 -W 5 -s 8000 "$2" >/run/ping 2>&1 || fail "fragments, $2: $(cat /run/ping)"
}

log_mark
ethernet_up
network "$interface" 10.0.20
copied_between_hosts 10.0.20.1 10.0.20.2 64 "MTU 1500"
# What the capture holds of these are segments that the adapter made.
large_sends=$(ethtool -S "$interface" | sed -n 's/.*tso_packets: //p')
say "$large_sends large sends"
[ "$large_sends" -ge 100 ] || fail "$large_sends large sends"
datagrams udp "10.0.20.$other"

ip link set "$interface" mtu 9000 || fail "MTU 9000"
wait_for 20 has_carrier "$interface" || fail "no carrier with MTU 9000"
host sync "MTU 9000"
ping -c 3 -i 0.1 -W 5 -s 8900 "10.0.20.$other" >/run/ping 2>&1 || fail "long packets: $(cat /run/ping)"
copied_between_hosts 10.0.20.1 10.0.20.2 64 "MTU 9000"
ip link set "$interface" mtu 1500 || fail "MTU 1500 again"
wait_for 20 has_carrier "$interface" || fail "no carrier with MTU 1500 again"
host sync "MTU 1500 again"

modprobe 8021q && ip link add link "$interface" name vlan7 type vlan id 7 || fail "a VLAN"
network vlan7 10.0.21
copied_between_hosts 10.0.21.1 10.0.21.2 16 "VLAN"

modprobe vxlan && ip link add vxlan42 type vxlan id 42 dev "$interface" local "10.0.20.$HOST_INDEX" \
  remote "10.0.20.$other" dstport 4789 || fail "VXLAN"
network vxlan42 10.0.22
copied_between_hosts 10.0.22.1 10.0.22.2 16 "VXLAN"

ip -6 addr add "fd00:20::$HOST_INDEX/64" dev "$interface" nodad || fail "an IPv6 address"
host sync "IPv6"
ping_far "fd00:20::$other" "IPv6"
copied_between_hosts fd00:20::1 fd00:20::2 16 "IPv6"
datagrams udp6 "fd00:20::$other"

say "the cable is pulled"
host sync "pull"
if [ "$HOST_INDEX" = 1 ]; then
  host cable off || fail "the cable cannot be pulled"
  wait_for 20 has_no_carrier "$interface" || fail "the cable is pulled, and there is a carrier"
  ! ping -c 2 -W 1 "10.0.20.$other" >/dev/null 2>&1 || fail "an answer without a cable"
  host cable on || fail "the cable cannot be plugged in"
fi
wait_for 20 has_carrier "$interface" || fail "no carrier"
host sync "plugged"
ping_far "10.0.20.$other" "plugged in again"
copied_between_hosts 10.0.20.1 10.0.20.2 4 "plugged in again"

ip link del vxlan42 && ip link del vlan7 || fail "VXLAN and VLAN do not go"
host sync "all done"
ethernet_down
ethernet_clean
say "all done"
