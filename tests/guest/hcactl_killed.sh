# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: SIGKILL at instants that are spread over hcactl ping's bring-up, traffic and teardown,
# on a card that resets its function (0000:00:08.0, hca0) and on one that does not (0000:00:09.0,
# hca1). Wants linux_traffic.sh, hcactl_outcomes.sh and hcactl_instants.sh.
# shellcheck disable=SC2154 # what hcactl_instants.sh sets

# killed_at COMMANDS SECONDS MESSAGES: false when the run was over before.
killed_at() {
  signalled_at KILL "$@"
  [ "$ended_status" = 0 ] || [ "$ended_status" = 137 ] || fail "killed: status $ended_status: $(cat /run/signalled)"
  [ "$ended_status" = 137 ]
}

iommu_refused() { dmesg | grep -q 'DMAR: \[DMA'; }

# next_owner: gets the adapter, after hcactl reset where the dead one's semaphore is still held.
next_owner() {
  next_status=0
  hcactl up "$hca" >/run/output 2>&1 || next_status=$?
  if [ $next_status = 19 ] && [ "$device" = hca1 ]; then
    hcactl reset "$hca" >/run/output 2>&1 || fail "hcactl reset: status $?: $(cat /run/output)"
    works "hcactl reset"
  elif [ $next_status != 0 ]; then
    fail "the next hcactl up: status $next_status: $(cat /run/output)"
  fi
}

# kill_between PART FIRST LAST: once each time, at the instants of the part, of all that there are.
kill_between() {
  instant=0
  while [ $instant -lt "$instants" ]; do
    slowly
    tries=0
    until killed_at $(($2 + ($3 - $2) * instant / instants)) 0 1; do
      tries=$((tries + 1))
      [ $tries -lt 5 ] || fail "$1: runs that are over before they can be killed"
    done
    quickly
    next_owner
    say "$hca: well after SIGKILL in $1, at command $ended_commands of $whole"
    instant=$((instant + 1))
  done
}

kill_in_traffic() {
  instant=0
  while [ $instant -lt "$instants" ]; do
    # What is left of the making of objects is over in no time.
    killed_at $((at_objects + 4)) 0.$((50 + instant)) "$endless" || fail "endless traffic is over: $(cat /run/signalled)"
    next_owner
    say "$hca: well after SIGKILL in traffic, command $ended_commands"
    instant=$((instant + 1))
  done
}

# killed_often INSTANTS: in each of four parts.
killed_often() {
  instants=$1
  log_mark
  for hca in 0000:00:08.0 0000:00:09.0; do
    device=hca0
    [ $hca = 0000:00:08.0 ] || device=hca1
    bind_vfio $hca || fail "vfio-pci does not take $hca"
    slowly || fail "the fault cannot be set"
    record
    kill_between bring-up 0 "$at_objects"
    kill_between "the life of objects" "$at_objects" "$at_teardown"
    kill_in_traffic
    kill_between teardown "$at_teardown" $((whole - 8))
    say "$hca: well after $((4 * instants)) kills"
  done
  log_clean || fail "the kernel's log"
  ! iommu_refused || fail "the adapter reached for memory that it does not have"

  # The log does tell of such a reach: what is left of a killed run gets power and bus mastering
  # back, and an event to write.
  killed_at $((at_objects + 4)) 0.7 "$endless" || fail "endless traffic is over: $(cat /run/signalled)"
  echo on >/sys/bus/pci/devices/"$hca"/power/control
  setpci -s "$hca" COMMAND=6:6
  host set x-fault-catastrophic true "$device"
  wait_for 5 iommu_refused || fail "the kernel does not log what the IOMMU refuses"
  next_owner
  log_mark
  linux_works 0000:00:08.0 0000:00:09.0
  log_clean || fail "the kernel's log"
}
