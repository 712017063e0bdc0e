#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The example two_hosts over VFIO in two guests, cabled port to port; nobody manages the subnet.
# program: two_hosts
# options: --hosts 2 --driver vfio
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

hca=$(hca_address) || fail "no adapter"
log_mark
mkfifo /run/there
two_hosts "$hca" "$HOST_INDEX" </run/there >/run/here 2>/run/outcome &
pid=$!
exec 3>/run/there
wait_for 100 [ -s /run/here ] || fail "no line for the other side: $(cat /run/outcome)"
read -r line </run/here
# The LID is in the bytes 14 and 15.
lid=$(echo "$line" | cut -c29-32)
[ "$lid" = "000$HOST_INDEX" ] || fail "the port has LID 0x$lid"
host sync "both are open"
# Nothing but the cable joins the guests. Their adapters and programs are alike, so the other
# guest's line has the same queue pair; the program says if not. LID, PSN and GID differ, and
# datagrams inside a subnet use only the LID of these.
echo "$line" | sed "s/^\(.\{28\}\)..../\1000$((3 - HOST_INDEX))/" >&3
wait $pid || fail "$(cat /run/outcome)"
[ "$(cat /run/outcome)" = "16 datagrams each way: ok" ] || fail "$(cat /run/outcome)"
host sync "both are done"
log_clean || fail "the kernel's log"
no_complaints
