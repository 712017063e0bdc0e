#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests on one Ethernet network. Host 1 has the network device of `hcactl nic` on its adapter
# over VFIO. Host 2 has Linux's mlx4_en, and a card of virtio-net in another network namespace.
# Ping, iperf3, a VLAN, an MTU of 9000 and multicast groups, each from both sides, with and without
# the offloads of both adapters. virtio-net has none here: on a hub its frames have no virtio
# header.
# program: hcactl
# options: --hosts 2 --device mlx4,link1=eth,ports=1,netdev1=port --more-packages iperf3
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: --file tests/guest/peers_over_vfio.sh:/guest/peers_over_vfio.sh
# options: -- -netdev hubport,id=cable,hubid=0,netdev=wire -netdev hubport,id=port,hubid=0
# options: -netdev hubport,id=card,hubid=0
# options: -device virtio-net-pci,netdev=card,mac=52:54:00:00:07:02,romfile=
# tier: long
# timeout: 3600
# shellcheck disable=SC2086 # words: $far
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh
# shellcheck source=tests/guest/peers_over_vfio.sh
. /guest/peers_over_vfio.sh
peers="hcactl nic on host 1, mlx4_en and virtio-net on host 2"

# nic_up [OPTION...]: host 1's network device, hca0, with 10.0.9.1.
nic_up() {
  if [ "$HOST_INDEX" = 1 ]; then
    hcactl nic "$ours" --tap hca0 "$@" >/run/nic 2>&1 &
    nic_pid=$!
    wait_for 60 [ -e /sys/class/net/hca0 ] || fail "hcactl nic $*: $(cat /run/nic)"
    ip addr add 10.0.9.1/24 dev hca0 && ip link set hca0 up || fail "10.0.9.1"
    wait_for 60 has_carrier hca0 || fail "hca0 has no carrier: $(cat /run/nic)"
  fi
  host sync "hcactl nic $*"
}

nic_down() {
  if [ "$HOST_INDEX" = 1 ]; then
    kill -TERM "$nic_pid"
    wait "$nic_pid" || fail "hcactl nic: $(cat /run/nic)"
    say "$(tail -n 2 /run/nic)"
  fi
  host sync "nic down"
}

# offloads on|off: mlx4_en has them, or not. The device of hcactl nic has been made so.
offloads() {
  if [ "$HOST_INDEX" = 1 ]; then
    offload_interface=hca0
  else
    offload_interface=$interface
    ethtool -K "$interface" tso "$1" gso "$1" gro "$1" tx "$1" rx "$1" >/dev/null ||
      fail "offloads $1"
  fi
  for offload in tx-checksumming tcp-segmentation-offload; do
    ethtool -k "$offload_interface" | grep -q "^$offload: $1" ||
      fail "$offload of $offload_interface is not $1: $(ethtool -k "$offload_interface")"
  done
  host sync "offloads $1"
}

# at 1|2|far COMMAND...: a row that is a command on that host, or in host 2 in the namespace of
# virtio-net. The other host waits. ONLY (--env) is a pattern of the rows that are wanted.
at() {
  at_host=$1 at_within=here
  [ "$1" != far ] || at_host=2 at_within=far
  at_name=$*
  # shellcheck disable=SC2254 # a pattern
  case $at_name in *${ONLY:-}*) ;; *) return 0 ;; esac
  shift
  rows=$((rows + 1))
  if [ "$HOST_INDEX" = "$at_host" ]; then
    at_status=0
    within $at_within timeout -k 5 "$row_seconds" "$@" >/run/output 2>/run/errors || at_status=$?
    if [ $at_status = 0 ]; then
      say "$at_name: $(grep -v '^iperf Done\|^ *$' /run/output | tail -n 1 | tr -s " ")"
    else
      failed_rows=$((failed_rows + 1))
      say "FAILED with status $at_status: $at_name: $(last_words)"
    fi
  fi
  host sync "row $rows"
}

# Before a command: in the namespace of virtio-net.
far="ip netns exec far"

# traffic NETWORK: ping and iperf3 between NETWORK.1, mlx4_en's NETWORK.2 and virtio-net's .3.
traffic() {
  at 1 ping -c 5 -i 0.2 -W 5 "$1.2"
  at 1 ping -c 5 -i 0.2 -W 5 "$1.3"
  at 2 ping -c 5 -i 0.2 -W 5 "$1.1"
  at far ping -c 5 -i 0.2 -W 5 "$1.1"
  at 1 iperf3 -c "$1.2" -n 2M
  at 1 iperf3 -c "$1.3" -n 2M
  at 2 iperf3 -c "$1.1" -n 2M
  at far iperf3 -c "$1.1" -n 2M
}

# on_vlan TAG: the same in that VLAN.
on_vlan() {
  if [ "$HOST_INDEX" = 1 ]; then
    vlan_up hca0 "$1" 1
  else
    vlan_up "$interface" "$1" 2
    $far ip link add link peer name "vlan$1" type vlan id "$1" && $far ip link set "vlan$1" up &&
      $far ip addr add 10.0.10.3/24 dev "vlan$1" || fail "VLAN $1 of virtio-net"
  fi
  host sync "VLAN $1"
  traffic 10.0.10
  if [ "$HOST_INDEX" = 1 ]; then
    ip link del "vlan$1"
  else
    ip link del "vlan$1" && $far ip link del "vlan$1" || fail "VLAN $1 does not go"
  fi
  host sync "no VLAN $1"
}
vlan_up() {
  modprobe 8021q && ip link add link "$1" name "vlan$2" type vlan id "$2" && ip link set "vlan$2" up &&
    ip addr add "10.0.10.$3/24" dev "vlan$2" || fail "VLAN $2"
}

# Packets of 8900 bytes go without fragments.
reassembled() { awk '/^Ip:/ && NF > 15 { n = $15 } END { print n }' /proc/net/snmp; }
no_fragments() {
  [ "$(reassembled)" = 0 ] || fail "fragments: $(cat /proc/net/snmp)"
}

# groups: members of 239.1.1.5 answer, and do not when they have left.
groups() {
  echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_broadcasts
  [ "$HOST_INDEX" = 1 ] || $far sh -c 'echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_broadcasts'
  [ "$HOST_INDEX" = 2 ] || ip addr add 239.1.1.5/32 dev hca0 autojoin || fail "239.1.1.5 is not joined"
  host sync "joined 1"
  at 2 ping -c 2 -W 5 -I "$interface" 239.1.1.5
  at far ping -c 2 -W 5 -I peer 239.1.1.5
  [ "$HOST_INDEX" = 2 ] || ip addr del 239.1.1.5/32 dev hca0
  [ "$HOST_INDEX" = 1 ] || ip addr add 239.1.1.5/32 dev "$interface" autojoin ||
    fail "239.1.1.5 is not joined"
  host sync "joined 2"
  at 1 ping -c 2 -W 5 -I hca0 239.1.1.5
  [ "$HOST_INDEX" = 1 ] || { ip addr del 239.1.1.5/32 dev "$interface" &&
    $far ip addr add 239.1.1.6/32 dev peer autojoin; } || fail "239.1.1.6 is not joined"
  host sync "joined 3"
  at 1 ping -c 2 -W 5 -I hca0 239.1.1.6
  at 1 sh -c '! ping -c 1 -W 2 -I hca0 239.1.1.5'
  [ "$HOST_INDEX" = 1 ] || $far ip addr del 239.1.1.6/32 dev peer || fail "239.1.1.6"
  host sync "left"
}

mkdir -p /tmp # iperf3 has a file there
log_mark
if [ "$HOST_INDEX" = 1 ]; then
  vfio_up
  modprobe tun || fail "modprobe tun"
else
  ethernet_up
  ip addr add 10.0.9.2/24 dev "$interface" || fail "10.0.9.2"
  peer_up 10.0.9.3/24
  $far iperf3 -s >/dev/null 2>&1 &
  far_server=$!
fi
iperf3 -s >/dev/null 2>&1 &
server=$!
interface=${interface:-hca0}
host sync "both are ready"

say "with offloads"
nic_up
offloads on
traffic 10.0.9
on_vlan 5
groups
nic_down

say "without offloads"
nic_up --no-offload
offloads off
traffic 10.0.9
on_vlan 5
groups
nic_down

say "MTU 9000, with offloads"
[ "$HOST_INDEX" = 1 ] || mtu_both 9000
nic_up --mtu 9000
offloads on
traffic 10.0.9
at 1 ping -c 3 -W 5 -s 8900 10.0.9.2
at 1 ping -c 3 -W 5 -s 8900 10.0.9.3
at 2 ping -c 3 -W 5 -s 8900 10.0.9.1
no_fragments
nic_down
rows_done

kill "$server"
if [ "$HOST_INDEX" = 2 ]; then
  # A namespace stays as long as it has a process.
  kill "$far_server" && wait "$far_server"
  peer_down
  ethernet_down
fi
log_clean || fail "the kernel's log"
no_complaints
