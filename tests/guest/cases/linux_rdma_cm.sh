#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# IPoIB, connections by rdma_cm over it, and the tools that manage a subnet, with Linux's own
# drivers and the built-in subnet manager: what IPoIB and the connection manager ask of the subnet
# administrator, and answers from agents. Every packet of port 1 decodes, with both CRCs right.
# options: --device mlx4,capture1=FILE
# then: tests/model/check_captures.py --file FILE
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# again: device_server long --device-server
# again: device_server_no_iommu long --device-server --no-iommu
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh

log_mark
linux_up
ipoib_up ib0 10.0.1.1
ipoib_up ib1 10.0.2.1

for address in 10.0.1.1 10.0.2.1; do
  connection "rdma-ping-19" rping -s -a $address -C 20 -S 4096 -V -- rping -c -a $address -C 20 -S 4096 -V -v
  connection "return status 0" ucmatose -b $address -c 4 -C 20 -S 4096 -- ucmatose -s $address -c 4 -C 20 -S 4096
  connection "return status 0" udaddy -b $address -c 4 -C 20 -S 1000 -- udaddy -s $address -c 4 -C 20 -S 1000
  connection "return status 0" mckey -m 224.0.1.5 -b $address -- mckey -m 224.0.1.5 -b $address -s
done

# An interface of the same port in another network namespace: what they send each other passes the
# adapter.
ip netns add far || fail "ip netns"
ip link add link ib0 name ib0far type ipoib && ip link set ib0far netns far || fail "a second interface of port 1"
ip netns exec far ip link set ib0far up && ip netns exec far ip addr add 10.0.1.2/24 dev ib0far || fail "ib0far"
for mode in datagram connected; do
  ip link set ib0 type ipoib mode $mode && ip -n far link set ib0far type ipoib mode $mode || fail "mode $mode"
  before=$(host get port1_packets_sent)
  before_connected=$(host get rc_send_packets)
  ping_far 10.0.1.2 "$mode"
  copied_far 10.0.1.2 "$mode" 8
  sent=$(($(host get port1_packets_sent) - before))
  sent_connected=$(($(host get rc_send_packets) - before_connected))
  say "IPoIB, $mode: $sent packets, $sent_connected of them sends of a reliable connection"
  [ $sent -ge 2048 ] || fail "8 MiB are 2048 packets of 4 KiB at least"
  case $mode in
    datagram) [ $sent_connected = 0 ] ;;
    *) [ $sent_connected -ge 2048 ] ;;
  esac || fail "not what the mode means"
done
ip netns del far

say "ibstat, ibping, sminfo, saquery, smpquery, perfquery, iblinkinfo"
for port in 1 2; do
  ibping -P $port -S >/dev/null 2>&1 &
  ibping_server=$!
  wait_for 10 sh -c "ibping -P $port -c 1 2 | grep -q ' 1 received'" || fail "ibping, port $port: no server"
  tool "State: Active" ibstat mlx4_0 $port
  tool "3 packets transmitted, 3 received, 0% packet loss" ibping -P $port -c 3 2
  kill $ibping_server
  wait $ibping_server 2>/dev/null
  tool "SMINFO_MASTER" sminfo -P $port
  tool "lid\.+2$" saquery -P $port NR
  tool "dlid\.+2$" saquery -P $port --src-to-dst 2:2
  tool "MGID\.+ff12:401b:ffff::ffff:ffff" saquery -P $port -g
  tool "LinkState:\.+Active" smpquery -P $port portinfo 2
  tool "PortGuid:" smpquery -P $port nodeinfo 2
  tool "PortXmitPkts:\.+[1-9]" perfquery -P $port 2 $port
  tool "Active/ +LinkUp" iblinkinfo -P $port
done

ip link set ib0 down
ip link set ib1 down
linux_down
log_clean || fail "the kernel's log"
no_complaints
