#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests whose adapters have an Ethernet port each, cabled to each other: a gibibyte each way
# with both usual MTUs; each offload off; a bridge, whose members have other addresses; the
# adapter's clock, and PTP with its timestamps.
# options: --hosts 2 --device mlx4,link1=eth --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# timeout: 3600
# tier: long
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh
other=$((3 - HOST_INDEX))

# offload NAME on|off
offload() {
  ethtool -K "$interface" "$1" "$2" >/run/offload 2>&1 || fail "ethtool -K $1 $2: $(cat /run/offload)"
  wait_for 20 has_carrier "$interface" || fail "no carrier with $1 $2"
}

set_mtu() {
  ip link set "$interface" mtu "$1" || fail "MTU $1"
  wait_for 20 has_carrier "$interface" || fail "no carrier with MTU $1"
  host sync "MTU $1"
}

# On host 2 the interface is a member of a bridge, beside one of a network namespace, whose address
# the adapter has never been told.
bridge_up() {
  modprobe bridge && modprobe veth && ip netns add behind || fail "a bridge"
  ip link add br0 type bridge && ip link add inside type veth peer name outside netns behind &&
    ip link set inside master br0 && ip link set "$interface" master br0 &&
    ip link set inside up && ip link set br0 up || fail "members of the bridge"
  ip -n behind addr add 10.0.30.12/24 dev outside && ip -n behind link set outside up ||
    fail "the address behind it"
}
bridge_down() {
  ip link set "$interface" nomaster && ip link del br0 && ip link del inside && ip netns del behind ||
    fail "the bridge does not go"
}

# Files go both ways through the bridge.
bridged() {
  if [ "$HOST_INDEX" = 2 ]; then
    bridge_up
    serve behind 16 bridge
    host sync "bridge"
    host sync "bridged"
    serve_no_more
    host sync "bridge, back"
    fetched behind 10.0.30.1 bridge
    say "16 MiB through a bridge each way"
    host sync "bridged, back"
    bridge_down
  else
    host sync "bridge"
    wait_for 40 ping -c 1 -W 1 10.0.30.12 || fail "10.0.30.12 does not answer"
    fetched here 10.0.30.12 bridge
    host sync "bridged"
    serve here 16 bridge
    host sync "bridge, back"
    host sync "bridged, back"
    serve_no_more
  fi
}

# ran SECONDS PATTERN COMMAND...: runs it for so long, and it says so at least three times.
ran() {
  ran_for=$1 ran_says=$2
  shift 2
  timeout "$ran_for" "$@" >/run/ran 2>&1
  [ "$(grep -cE "$ran_says" /run/ran)" -ge 3 ] || fail "$*: $(cat /run/ran)"
  say "$*: $(grep -E "$ran_says" /run/ran | tail -n 1)"
}

clock() {
  clock_is=/dev/$(basename "/sys/class/net/$interface/device/ptp"/ptp*)
  [ -c "$clock_is" ] || fail "no clock: $clock_is"
  phc_ctl "$interface" set get freq 0 adj 5 get cmp >/run/clock 2>&1 || fail "phc_ctl: $(cat /run/clock)"
  say "phc_ctl: $(grep offset /run/clock)"
  ran 12 'CLOCK_REALTIME phc offset' phc2sys -s "$interface" -O 0 -m
  # The slave follows the master by hardware timestamps of both.
  host sync "PTP"
  if [ "$HOST_INDEX" = 1 ]; then
    timeout 60 ptp4l -i "$interface" -H -2 -m --masterOnly 1 >/run/ptp 2>&1 &
    clock_pid=$!
    host sync "PTP done"
    kill $clock_pid
    wait $clock_pid
  else
    ran 50 'master offset' ptp4l -i "$interface" -H -2 -m -s
    host sync "PTP done"
  fi
  hwstamp_ctl -i "$interface" -t 0 -r 0 >/dev/null || fail "hwstamp_ctl"
}

log_mark
ethernet_up
ip addr add "10.0.30.$HOST_INDEX/24" dev "$interface" || fail "an address"
host sync "up"
ping_far "10.0.30.$other" "the other host"

copied_between_hosts 10.0.30.1 10.0.30.2 64 "MTU 1500" 16
set_mtu 9000
copied_between_hosts 10.0.30.1 10.0.30.2 64 "MTU 9000" 16
set_mtu 1500

for name in tso tx rx gso gro rxvlan txvlan rxhash; do
  offload $name off
  host sync "$name"
  copied_between_hosts 10.0.30.1 10.0.30.2 16 "$name off"
done
for name in tx tso rx gso gro rxvlan txvlan rxhash; do offload $name on; done
host sync "all on"
copied_between_hosts 10.0.30.1 10.0.30.2 16 "all on again"

bridged
host sync "no bridge"
ping_far "10.0.30.$other" "without the bridge"
clock
host sync "clocks"
wait_for 20 has_carrier "$interface" || fail "no carrier at the end"
copied_between_hosts 10.0.30.1 10.0.30.2 4 "at the end"

ethernet_down
# mlx4_en says so on every card when ptp4l has frames stamped (Linux 6.1 en_netdev.c,
# mlx4_en_reset_config).
ethernet_clean 'Turning off RX vlan offload since RX time-stamping is ON$'
say "all done"
