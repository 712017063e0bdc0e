#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What stands between a user and an adapter: each obstacle has its message and exit code, and leaves
# the adapter and the kernel clean. On a card that cannot reset its function, so that a dead owner's
# semaphore stays held.
# program: hcactl
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
# One processor: QEMU before 8.2 can crash when one maps a BAR while another reads a register (its
# tcg_commit).
# options: --smp 1 --device mlx4,flr=off
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh

hca=$(hca_address) || fail "no adapter"
log_mark
refused 10 'not a PCI address' hcactl up mlx4_0
refused 11 'no PCI function' hcactl up 0000:ff:1f.7
refused 12 'no ConnectX-2' hcactl up 0000:00:00.0
linux_up
refused 13 'bound to mlx4_core' hcactl up "$hca"
linux_down
refused 13 'bound to no driver' hcactl up "$hca"
bind_vfio "$hca" || fail "vfio-pci does not take the adapter"
works "binding"

refused 16 'no permission' setpriv --reuid 1000 --regid 1000 --clear-groups hcactl up "$hca"
# Root without CAP_IPC_LOCK has to keep the limit.
refused 17 'bytes of memory must be locked' \
  setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock prlimit --memlock=1048576 hcactl up "$hca"

say "sizes that machine or adapter cannot have"
for json in '' --json; do
  # shellcheck disable=SC2086 # none, or one word
  refused 25 'want 1257 MB of this machine' \
    prlimit --as=400000000 hcactl up "$hca" $json --size qps=24 --size mtts=31
done
grep -q '"code": 25' /run/output || fail "no document: $(cat /run/output)"
refused 25 '.-size eqs=3 is not from 6 to 9' hcactl up "$hca" --size eqs=3 --event-queues 16
works "sizes that cannot be had"

say "a second process"
hcactl ping "$hca" --messages 100000 >/run/first 2>&1 &
first=$!
sleep 3
refused 18 'another process' hcactl up "$hca"

say "SIGINT in the middle of traffic"
kill -INT $first
first_status=0
wait $first || first_status=$?
[ $first_status = 130 ] || fail "interrupted: status $first_status: $(cat /run/first)"
works "an interruption of traffic"

say "SIGINT in the middle of bring-up"
hcactl up "$hca" >/run/first 2>&1 &
first=$!
# The reset of this card alone takes a second.
sleep 0.7
kill -INT $first 2>/dev/null
first_status=0
wait $first || first_status=$?
[ $first_status = 130 ] || fail "interrupted: status $first_status: $(cat /run/first)"
works "an interruption of bring-up"

say "an owner that dies"
hcactl ping "$hca" --messages 100000 >/run/first 2>&1 &
first=$!
sleep 3
kill -KILL $first
wait $first
refused 19 'hcactl reset' hcactl up "$hca"
hcactl reset "$hca" || fail "hcactl reset: status $?"
works "the reset"

say "firmware that is slow to answer is waited for"
host set x-fault-command-latency 2000000 || fail "the fault cannot be set"
works "a latency of 2 ms"
host set x-fault-command-latency 0

say "Linux's driver is well afterwards"
linux_works
log_clean || fail "the kernel's log"
no_complaints
