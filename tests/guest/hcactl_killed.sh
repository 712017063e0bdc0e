# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: SIGKILL at instants that are spread over a whole run of hcactl ping, on a card that resets its function
# (0000:00:08.0, hca0) and on one that does not (0000:00:09.0, hca1). Wants linux_traffic.sh and hcactl_outcomes.sh.

now_ms() { tr -d . </proc/uptime | cut -d ' ' -f 1 | sed 's/$/0/'; }

# Bring-up and teardown are a hundred commands: this makes them last as long as the traffic does.
slowly() { host set x-fault-command-latency 10000000 "$device"; }
quickly() { host set x-fault-command-latency 0 "$device"; }
commands() { host get commands "$device"; }
messages=12
iommu_refused() { dmesg | grep -q 'DMAR: \[DMA'; }

# killed MILLISECONDS MESSAGES
killed() {
  signalled KILL "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))" hcactl ping "$hca" --messages "$2"
}

# record: one whole run, for how long it lasts and which of its commands begin which part.
record() {
  record_commands=$(commands) record_start=$(now_ms)
  hcactl ping "$hca" --messages $messages >/run/output 2>&1 || fail "the run to be recorded: status $?: $(cat /run/output)"
  whole_ms=$(($(now_ms) - record_start))
  whole=$(($(commands) - record_commands))
  at_traffic=$(sed -n 's/^commands *\([0-9]*\) issued, .*/\1/p' /run/output)
  at_teardown=$(sed -n 's/^commands *\([0-9]*\) issued by now.*/\1/p' /run/output)
  [ "$at_traffic" -gt 0 ] && [ "$at_teardown" -ge "$at_traffic" ] && [ "$whole" -gt "$at_teardown" ] ||
    fail "no parts of a run in: $(cat /run/output)"
  say "$hca: a run lasts $whole_ms ms; of $whole commands traffic begins after $at_traffic, teardown after $at_teardown"
}

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

# kill_at MILLISECONDS: false when the run was over by then.
kill_at() {
  slowly
  kill_commands=$(commands)
  killed "$1" $messages
  kill_commands=$(($(commands) - kill_commands))
  quickly
  # shellcheck disable=SC2154 # set by `signalled`
  if [ "$signalled_status" = 0 ]; then
    kill_part=
  elif [ "$signalled_status" != 137 ]; then
    fail "killed: status $signalled_status: $(cat /run/signalled)"
  elif [ $kill_commands -lt "$at_traffic" ]; then
    kill_part=bring-up in_bring_up=$((in_bring_up + 1))
  elif [ $kill_commands -le "$at_teardown" ]; then
    kill_part=traffic in_traffic=$((in_traffic + 1))
  else
    kill_part=teardown in_teardown=$((in_teardown + 1))
  fi
  next_owner
  say "$hca: well after SIGKILL at $1 ms, command $kill_commands: ${kill_part:-it was over already}"
  [ -n "$kill_part" ]
}

# killed_often INSTANTS
killed_often() {
  log_mark
  for hca in 0000:00:08.0 0000:00:09.0; do
    device=hca0
    [ $hca = 0000:00:08.0 ] || device=hca1
    bind_vfio "$hca" || fail "vfio-pci does not take $hca"
    slowly || fail "the fault cannot be set"
    record
    in_bring_up=0 in_traffic=0 in_teardown=0 instant=0
    while [ $instant -lt "$1" ]; do
      instant_tries=0
      until kill_at $((whole_ms * (2 * instant + 1) / (2 * $1))); do
        # The machine has less to do now than it had while the run was recorded.
        instant_tries=$((instant_tries + 1))
        [ $instant_tries -lt 5 ] || fail "runs that are over before their time"
        slowly
        record
      done
      instant=$((instant + 1))
    done
    say "$hca: of $1 instants $in_bring_up in bring-up, $in_traffic in traffic, $in_teardown in teardown"
    [ $in_bring_up -gt 0 ] && [ $in_traffic -gt 0 ] && [ $in_teardown -gt 0 ] || fail "a part of the run was not met"
  done
  log_clean || fail "the kernel's log"
  ! iommu_refused || fail "the adapter reached for memory that it does not have"

  # The log does tell of such a reach: what is left of a killed run gets power and bus mastering back, and an event to
  # write.
  killed "$whole_ms" 100000
  [ "$signalled_status" = 137 ] || fail "killed: status $signalled_status: $(cat /run/signalled)"
  echo on >/sys/bus/pci/devices/"$hca"/power/control
  setpci -s "$hca" COMMAND=6:6
  host set x-fault-catastrophic true "$device"
  wait_for 5 iommu_refused || fail "the kernel does not log what the IOMMU refuses"
  next_owner
  log_mark
  linux_works 0000:00:08.0 0000:00:09.0
  log_clean || fail "the kernel's log"
}
