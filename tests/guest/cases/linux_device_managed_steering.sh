#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Device-managed steering: Linux's drivers make a rule for each multicast group of a queue pair and
# for the unicast of IPoIB's, and IPoIB, rdma_cm's datagrams and multicast go by them.
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# again: device_server long --device-server
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh

log_mark
linux_up log_num_mgm_entry_size=-1
[ "$(host get init_device_managed_steering)" = 1 ] || fail "the driver did not choose device-managed steering"
ipoib_up ib0 10.0.1.1
rules=$(host get flow_rules)
[ "$rules" -ge 4 ] || fail "$rules rules: broadcast, all hosts, all routers and unicast are four"
say "$rules rules for one interface"

connection "return status 0" udaddy -b 10.0.1.1 -c 4 -C 20 -S 1000 -- udaddy -s 10.0.1.1 -c 4 -C 20 -S 1000
connection "return status 0" mckey -m 224.0.1.5 -b 10.0.1.1 -- mckey -m 224.0.1.5 -b 10.0.1.1 -s

ip netns add far || fail "ip netns"
ip link add link ib0 name ib0far type ipoib && ip link set ib0far netns far || fail "a second interface of port 1"
ip netns exec far ip link set ib0far up && ip netns exec far ip addr add 10.0.1.2/24 dev ib0far || fail "ib0far"
ping_far 10.0.1.2 datagram
copied_far 10.0.1.2 datagram 2
ip netns del far

ip link set ib0 down
linux_down
attached=$(host get command_QP_FLOW_STEERING_ATTACH)
detached=$(host get command_QP_FLOW_STEERING_DETACH)
say "$attached rules made, $detached ended"
[ "$attached" = "$detached" ] || fail "rules are left"
[ "$(host get command_WRITE_MCG)" = 0 ] || fail "the multicast table was written"
log_clean || fail "the kernel's log"
no_complaints
