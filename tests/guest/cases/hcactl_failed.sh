#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# An adapter that has an internal error under traffic, one that is pulled out under it, and one
# whose ports are not active: each has its message and exit code, and the next run finds the adapter
# in order.
# program: hcactl
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
# One processor: QEMU before 8.2 can crash when one maps a BAR while another reads a register (its
# tcg_commit).
# options: --smp 1 --device mlx4,flr=off,addr=8 -- -device mlx4,sm=off,addr=9,id=hca1
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh

# hit_by FAULT COMMAND...: the command, whose adapter gets the fault after a while.
hit_by() {
  hit_fault=$1
  shift
  "$@" &
  hit_process=$!
  sleep 4
  host set "$hit_fault" true || return 1
  wait $hit_process
}

log_mark
hca=0000:00:08.0
bind_vfio $hca || fail "vfio-pci does not take $hca"
works "binding"
refused 22 'hcactl reset' hit_by x-fault-catastrophic hcactl ping $hca --messages 100000
works "an internal error"
linux_works

hca=0000:00:09.0
bind_vfio $hca || fail "vfio-pci does not take $hca"
refused 24 'subnet manager' hcactl ping $hca
works "a port that is not active"
hcactl --json up $hca | grep -q '"state": "Initialize"\|"state": "Down"' || fail "hcactl up: the port's state"
log_clean || fail "the kernel's log"

# What the kernel says of a card that it can no longer reach is the kernel's.
hca=0000:00:08.0
bind_vfio $hca || fail "vfio-pci does not take $hca again"
refused 22 'gone or broken' hit_by x-fault-removed hcactl ping $hca --messages 100000
echo 1 >/sys/bus/pci/devices/$hca/remove
host set x-fault-removed false || fail "the card cannot be plugged in again"
echo 1 >/sys/bus/pci/rescan
bind_vfio $hca || fail "vfio-pci does not take $hca after it was plugged in again"
works "a card that was pulled"
