#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests whose cables lead to freehca-switch, and OpenSM in the first. The second is moved to
# another QEMU process while both work. The switch gives its name the port again, which stays Active
# with its LID: RDMA writes, rping, NVMe over RDMA and TCP over IPoIB go on, and no port of either
# host tells of an event.
# program: freehca-switch
# options: --hosts 2 --switch ib,names --memory 512M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_switch.sh:/guest/linux_switch.sh
# options: --file tests/guest/linux_moves.sh:/guest/linux_moves.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/linux_switch.sh
. /guest/linux_switch.sh
# shellcheck source=tests/guest/linux_moves.sh
. /guest/linux_moves.sh

log_mark
switch_up
ipoib_up ib0 "10.0.1.$HOST_INDEX"
host sync addresses
ping_all "datagrams"
moves_between_hosts 10.0.1.1 "${MOVES:-live}"
lid_is "$HOST_INDEX" || fail "another LID: $(ibstat mlx4_0 1)"
switch_down
log_clean || fail "the kernel's log"
no_complaints
say "all done"
