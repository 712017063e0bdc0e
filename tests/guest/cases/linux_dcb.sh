#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two Ethernet ports on a hub with a network card of QEMU's own, which is in another network
# namespace: shares of traffic classes and pause by priority with iproute2's dcb, classes with tc's
# mqprio, and both ports in one bond, with RoCE, whose active port loses its cable.
# options: --device mlx4,link1=eth,link2=eth,netdev1=net1,netdev2=net2
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: -- -netdev hubport,id=net1,hubid=0 -netdev hubport,id=net2,hubid=0 -netdev hubport,id=peer-hub,hubid=0
# options: -device virtio-net-pci,netdev=peer-hub,mac=52:54:00:00:07:02,id=peer,romfile=
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh

# asked COMMAND: how many of that command the adapter has done.
asked() { host get "command_$1" || fail "the model's counter command_$1"; }

# dcb_set ...: iproute2's dcb numbers its messages by the second, and an answer to the one before
# that comes in the next second is "Protocol error" to it (inferred: libmnl's word for that).
dcb_set() { wait_for 10 dcb "$@" || fail "dcb $*"; }

ets() {
  say "shares"
  before=$(asked SET_PORT)
  tool "ets-cap 8 " dcb ets show dev "$interface"
  dcb_set ets set dev "$interface" tc-tsa all:strict 0:ets 1:ets tc-bw all:0 0:30 1:70 \
    prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7
  tool "0:ets 1:ets 2:strict" dcb ets show dev "$interface"
  tool "0:30 1:70" dcb ets show dev "$interface"
  # What priorities are classes of, and what classes have.
  [ $(($(asked SET_PORT) - before)) -ge 2 ] || fail "the adapter was not told of classes"
  copied_both_ways 10.0.9.1 10.0.9.2 2 "with shares"
  ! dcb ets set dev "$interface" tc-bw 0:30 1:80 2>/run/refused || fail "shares of 110 %"
  log_excuse="Bad ETS BW sum: 110"
}

# hundredths: of a second, of a clock that goes on.
hundredths() { tr -d . </proc/uptime | cut -d ' ' -f 1; }

# Each class has 100 Mb/s, and one of them has all that is copied, by mqprio: a flow changes its
# ring with the processor that sends for it, and when it has lost something. Frames have to wait for
# that; for how long is the model's own test, by its clock (tests/model/traffic_classes_test.cpp).
# iproute2's dcb (6.1) gives the kernel bytes a second where it takes thousands of bits
# (linux/dcbnl.h ieee_maxrate): 800 kbit are 100 Mb/s, and 80 mbit are 10 Gb/s.
rates() {
  say "rates"
  classes_by_priority 0
  before=$(asked SET_PORT)
  dcb_set maxrate set dev "$interface" tc-maxrate all:800kbit
  tool "0:800Kbit" dcb maxrate show dev "$interface"
  [ "$(asked SET_PORT)" -gt "$before" ] || fail "the adapter was not told of rates"
  copy_file 16
  began=$(hundredths)
  held=$(host get port1_frames_held_to_rate)
  moved here far 10.0.9.2 "with a rate"
  took=$(($(hundredths) - began))
  held=$(($(host get port1_frames_held_to_rate) - held))
  say "16 MiB took $took hundredths of a second; $held frames were held back"
  [ $held -gt 0 ] || fail "no frame was held back by a rate of 100 Mb/s"
  rm /run/file
  ping -c 5 -i 0.2 -s 60000 10.0.9.2 >/run/ping 2>&1 || fail "large pings with a rate: $(cat /run/ping)"
  no_classes
  dcb_set maxrate set dev "$interface" tc-maxrate all:80mbit
  copied_both_ways 10.0.9.1 10.0.9.2 2 "with a rate of 10 Gb/s"
}

pfc() {
  say "pause by priority"
  dcb_set pfc set dev "$interface" prio-pfc all:off 3:on
  tool "3:on" dcb pfc show dev "$interface"
  dcb_set pfc set dev "$interface" prio-pfc all:off
  copied_both_ways 10.0.9.1 10.0.9.2 2 "after pause by priority"
}

# classes_by_priority CLASS: eight classes; what has no priority goes by CLASS.
classes_by_priority() {
  tc qdisc add dev "$interface" root mqprio num_tc 8 map "$1" 1 2 3 4 5 6 7 hw 1 || fail "mqprio"
  wait_for 20 has_carrier "$interface" || fail "no carrier with mqprio"
}
no_classes() {
  tc qdisc del dev "$interface" root || fail "mqprio does not go"
  wait_for 20 has_carrier "$interface" || fail "no carrier after mqprio"
}

active_slave_is() { [ "$(cat /sys/class/net/bond0/bonding/active_slave)" = "$1" ]; }
cable_of() {
  host qmp '{"execute": "set_link", "arguments": {"name": "net'"$1"'", "up": '"$2"'}}' >/dev/null || fail "set_link"
}

# fails_over: a ping every 50 ms goes on while the cable of the active port is pulled; the bond
# looks every 100 ms.
fails_over() {
  from=$(cat /sys/class/net/bond0/bonding/active_slave) to=$first
  [ "$from" != "$first" ] || to=$second
  cable=$(($(cat "/sys/class/net/$from/dev_port") + 1))
  maps=$(asked VIRT_PORT_MAP)
  ping -c 120 -i 0.05 -W 2 10.0.12.2 >/run/ping 2>&1 &
  ping_pid=$!
  sleep 1
  cable_of $cable false
  wait_for 20 active_slave_is "$to" || fail "$to does not become active: $(cat /proc/net/bonding/bond0)"
  wait $ping_pid || fail "ping over the bond: $(cat /run/ping)"
  lost=$(sed -n 's/.* \([0-9]*\)% packet loss.*/\1/p' /run/ping)
  say "from $from to $to: $lost % of the pings are lost"
  [ "$lost" -le 20 ] || fail "too many pings are lost: $(tail -n 3 /run/ping)"
  [ "$(asked VIRT_PORT_MAP)" -gt "$maps" ] || fail "the adapter was not told another map"
  copied here far 10.0.12.2 2 "by $to"
  cable_of $cable true
  wait_for 20 has_carrier "$from" || fail "$from has no carrier again"
}

# sent_of_class CLASS: frames that the rings of a class have sent, of eight classes.
sent_of_class() {
  ethtool -S "$interface" | awk -v class="$1" '
    /^ *tx[0-9]+_packets:/ { ring = $1; gsub(/[^0-9]/, "", ring); sent[rings++] = ring " " $2 }
    END {
      for (i = 0; i < rings; i++) {
        split(sent[i], one, " ")
        if (int(one[1] / (rings / 8)) == class) sum += one[2]
      }
      print sum + 0
    }'
}

# Eight classes, each with rings of its own, whose queue pairs have its priority. What has no
# priority in the kernel goes by the class that the map gives to 0.
mqprio() {
  say "mqprio"
  for class in 0 5 7; do
    classes_by_priority $class
    # Not by `tool`, whose timeout is busybox's and prefers busybox's tc.
    tc qdisc show dev "$interface" | grep -q "mqprio .*tc 8 map $class 1 2 3 4 5 6 7" ||
      fail "mqprio: $(tc qdisc show dev "$interface")"
    before=$(sent_of_class $class)
    ping -q -c 20 -i 0.02 -W 5 10.0.9.2 >/run/ping || fail "ping with class $class: $(cat /run/ping)"
    [ $(($(sent_of_class $class) - before)) -ge 20 ] ||
      fail "class $class has not sent it: $(ethtool -S "$interface" | grep -E ' tx[0-9]+_packets')"
    copied_both_ways 10.0.9.1 10.0.9.2 2 "by class $class"
    no_classes
  done
  ! tc qdisc add dev "$interface" root mqprio num_tc 3 hw 1 2>/run/refused || fail "three classes"
  copied_both_ways 10.0.9.1 10.0.9.2 2 "without mqprio"
}

rdma_device() { rdma_name=$(ls /sys/class/infiniband) && [ -n "$rdma_name" ]; }
bond_gid() { rdma_device && rdma_gid=$(gid_index "$rdma_name" 1 "RoCE v2" "ffff:0a00:0c01"); }
# roce WHAT: the RDMA device has the bond's address as a GID, and queue pairs reach each other by
# it.
roce() {
  wait_for 20 bond_gid || fail "no GID of the bond, $1: $(rdma link)"
  say "RoCE over the bond, $1: $rdma_name, GID $rdma_gid"
  pair ibv_rc_pingpong -d "$rdma_name" -g "$rdma_gid" -n 100
  pair ibv_ud_pingpong -d "$rdma_name" -g "$rdma_gid" -n 100
  pair ib_write_bw -d "$rdma_name" -x "$rdma_gid" -F -n 200
}

bond() {
  say "a bond"
  modprobe mlx4_ib && modprobe ib_uverbs || fail "modprobe mlx4_ib"
  first=$interface
  ethernet_find 2 || fail "port 2 has no interface"
  second=$interface
  ip addr flush dev "$first"
  modprobe bonding max_bonds=0 || fail "modprobe bonding"
  before=$(asked CONFIG_DEV)
  ip link add bond0 type bond mode active-backup miimon 100 || fail "bond0"
  for slave in "$first" "$second"; do
    ip link set "$slave" down && ip link set "$slave" master bond0 || fail "$slave does not become a slave"
  done
  ip link set bond0 up && ip addr add 10.0.12.1/24 dev bond0 && ip -n far addr add 10.0.12.2/24 dev peer ||
    fail "bond0: its address"
  for slave in "$first" "$second"; do
    wait_for 20 has_carrier "$slave" || fail "$slave has no carrier"
  done
  ping_far 10.0.12.2 "the peer, over the bond"
  [ "$(asked CONFIG_DEV)" -gt "$before" ] || fail "the adapter does not know of the bond"
  roce "as it began"
  fails_over
  roce "by the other port"
  fails_over
  roce "by the first port again"
  before=$(asked CONFIG_DEV)
  ip link del bond0 || fail "bond0 does not go"
  wait_for 20 unbonded "$before" || fail "the adapter does not know that the bond is gone"
  modprobe -r bonding || fail "modprobe -r bonding"
  interface=$first
}
unbonded() { [ "$(asked CONFIG_DEV)" -gt "$1" ]; }

log_mark
ethernet_up log_num_mgm_entry_size="${DCB_STEERING:--1}"
peer_up 10.0.9.2/24
ip addr add 10.0.9.1/24 dev "$interface" || fail "an address"
ping_far 10.0.9.2 "the peer"
log_excuse=
for part in ${DCB_PARTS:-ets rates pfc mqprio bond}; do $part; done
peer_down
ethernet_down
log_clean ${log_excuse:+"$log_excuse"} || fail "the kernel's log"
no_complaints
say "all done"
