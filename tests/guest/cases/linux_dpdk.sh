#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# DPDK's testpmd with its poll mode driver net_mlx4, on two guests whose Ethernet ports are cabled
# to each other. One guest generates frames of many flows. The other guest receives them with two
# queues (RSS) and sends them back.
# options: --more-packages dpdk --hosts 2 --device mlx4,link1=eth --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh
# Of 1024 flows: each queue gets some of them.
frames=1000

# testpmd_start ARGUMENTS...: until it reads commands. Two lcores share the one processor: the first
# runs commands, the second forwards. Port 2 is not Ethernet, so the driver is told port=0.
testpmd_start() {
  rm -f /run/commands && mkfifo /run/commands && exec 3<>/run/commands || fail "mkfifo"
  dpdk-testpmd --no-huge -m 128 --iova-mode=va --lcores 0@0,1@0 --no-telemetry \
    -a "$(hca_address),port=0" -- --interactive --total-num-mbufs=4096 "$@" \
    </run/commands >/run/testpmd 2>&1 3>&- &
  testpmd_pid=$!
  wait_for 100 grep -q 'testpmd> ' /run/testpmd || fail "testpmd $*: $(cat /run/testpmd)"
}

# testpmd COMMAND...
testpmd() { echo "$*" >&3; }

# testpmd_end: with the counters of its port in /run/testpmd.
testpmd_end() {
  testpmd stop
  testpmd show port xstats 0
  testpmd quit
  wait $testpmd_pid || fail "testpmd ends with $?: $(cat /run/testpmd)"
  exec 3>&-
}

# counter NAME: of the port, as testpmd printed it.
counter() { sed -n "s/^$1: //p" /run/testpmd; }

# port_received COUNT: since `port_before`, by the adapter's counters.
port_received() { [ $(($(port_packets) - port_before)) -ge "$1" ]; }
port_packets() { ethtool -S "$interface" | sed -n 's/.* rx_novlan_packets: //p'; }

# no_errors [both]: testpmd counted none, also in the second queue.
no_errors() {
  for name in rx_errors tx_errors rx_mbuf_allocation_errors rx_q0_errors ${1:+rx_q1_errors}; do
    [ "$(counter "$name")" = 0 ] || fail "$name: $(cat /run/testpmd)"
  done
}

# exchange generator|forwarder: starts forwarding. The generator goes on until enough frames came
# back. Its testpmd has ended before the forwarder's ends.
exchange() {
  if [ "$1" = generator ]; then
    host sync "forwarder"
    port_before=$(port_packets)
    testpmd start
    wait_for 100 port_received $frames || fail "no frames came back: $(ethtool -S "$interface")"
    testpmd_end
    host sync "generated"
    no_errors
    say "generator: $(counter tx_q0_packets) frames sent," \
      "$(counter rx_q0_packets) received by its queue"
  else
    testpmd start
    host sync "forwarder"
    host sync "generated"
    testpmd_end
    no_errors both
    say "forwarder: $(counter rx_q0_packets) and $(counter rx_q1_packets) frames received" \
      "by the two queues," \
      "$(counter tx_q0_packets) and $(counter tx_q1_packets) sent"
    for name in rx_q0_packets rx_q1_packets tx_q0_packets tx_q1_packets; do
      [ "$(counter $name)" -gt 0 ] || fail "$name: $(cat /run/testpmd)"
    done
  fi
}

log_mark
ethernet_up log_num_mgm_entry_size=-1
[ "$(host get init_device_managed_steering)" = 1 ] ||
  fail "the driver did not choose device-managed steering"
modprobe mlx4_ib && modprobe ib_uverbs || fail "modprobe mlx4_ib, ib_uverbs"
wait_for 10 [ -e /dev/infiniband/uverbs0 ] || fail "no device uverbs0"
host sync "up"

# The mode flowgen sends from one address to another, and neither is an adapter's (DPDK 22.11
# app/test-pmd/flowgen.c). The forwarder is promiscuous. The generator is not: it only receives what
# has its additional address, which is what the forwarder makes the destination.
if [ "$HOST_INDEX" = 1 ]; then
  testpmd_start --forward-mode=flowgen
  testpmd set promisc 0 off
  testpmd mac_addr add 0 00:01:02:03:04:00
  exchange generator
  [ "$(counter rx_q0_packets)" -gt 0 ] || fail "no frames in the queue: $(cat /run/testpmd)"
else
  testpmd_start --forward-mode=macswap --rxq=2 --txq=2 --rss-udp
  exchange forwarder
fi
host sync "all done"
ethernet_down
attached=$(host get command_QP_FLOW_STEERING_ATTACH)
detached=$(host get command_QP_FLOW_STEERING_DETACH)
say "$attached rules made, $detached ended"
[ "$attached" = "$detached" ] || fail "rules are left"
ethernet_clean
say "all done"
