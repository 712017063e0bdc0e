#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Four hosts with Linux's own drivers, joined by freehca-switch: OpenSM brings the fabric up, each
# reaches each, and when the switch is killed under traffic the fabric heals.
# program: freehca-switch
# options: --hosts 4 --switch ib --memory 384M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_switch.sh:/guest/linux_switch.sh
# tier: long
# timeout: 1500
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/linux_switch.sh
. /guest/linux_switch.sh

log_mark
switch_up
fabric_is_whole
host sync whole
ibping_all

ipoib_up ib0 "10.0.1.$HOST_INDEX"
host sync addresses
ping_all "datagrams"
from_each ibv_rc_pingpong -n 100 -c
from_each ibv_ud_pingpong -n 100 -c
counters_of_switch
host sync counted

say "the switch is killed under traffic"
heals "killed" host switch kill
from_each ibv_rc_pingpong -n 100 -c
fabric_is_whole

switch_down
log_clean || fail "the kernel's log"
no_complaints
