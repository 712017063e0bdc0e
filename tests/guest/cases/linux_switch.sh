#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two hosts with Linux's own drivers, joined by freehca-switch: OpenSM brings the fabric up,
# infiniband-diags see the switch and each of its ports, traffic passes, groups too; the switch is
# killed under traffic, and ended and begun, and the fabric heals.
# program: freehca-switch
# options: --hosts 2 --switch ib --memory 512M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_switch.sh:/guest/linux_switch.sh
# tier: long
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/linux_switch.sh
. /guest/linux_switch.sh

log_mark
switch_up
say "the fabric"
fabric_is_whole
host sync whole
ibping_all

say "traffic"
ipoib_up ib0 "10.0.1.$HOST_INDEX"
host sync addresses
ping_all "datagrams"
for service in rc uc ud srq; do from_each ibv_${service}_pingpong -n 100 -c; done
from_each ib_send_bw -d mlx4_0 -F -c RC -s 65536 -n 100
from_each ib_write_bw -d mlx4_0 -F -c RC -s 1048576 -n 8
counters_of_switch
host sync counted

say "a group"
if [ "$HOST_INDEX" = 1 ]; then
  mckey -m 224.0.1.5 -b 10.0.1.1 >/run/mckey 2>&1 &
  mckey_pid=$!
  wait_for 20 mckey_joined || fail "mckey: $(cat /run/mckey)"
fi
host sync joined
[ "$HOST_INDEX" = 1 ] || timeout 150 mckey -m 224.0.1.5 -b "10.0.1.$HOST_INDEX" -s >/run/mckey 2>&1 || fail "mckey: $(cat /run/mckey)"
[ "$HOST_INDEX" != 1 ] || wait "$mckey_pid" || fail "mckey: $(cat /run/mckey)"
host sync received

say "the switch is killed under traffic"
heals "killed" host switch kill
say "the switch ends under traffic, and begins again"
heals "ended" host switch stop
from_each ibv_rc_pingpong -n 100 -c
fabric_is_whole

switch_down
log_clean || fail "the kernel's log"
no_complaints
