#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# SIGINT at instants of bring-up, of the making of objects, of traffic, and of teardown, on a card
# that resets its function and on one that does not: each time the adapter is given back, and works.
# Each of these parts is struck as often as it is meant to be: what a signal found is told by the
# commands that were issued before it.
# mostly: waits
# program: hcactl
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
# options: --file tests/guest/hcactl_instants.sh:/guest/hcactl_instants.sh
# One processor: QEMU before 8.2 can crash when one maps a BAR while another reads a register (its
# tcg_commit).
# options: --smp 1 --device mlx4,flr=on,addr=8 -- -device mlx4,flr=off,addr=9,id=hca1
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh
# shellcheck source=tests/guest/hcactl_instants.sh
. /guest/hcactl_instants.sh
instants=3

# cut_short LAST: the signal came before that command; the run stopped for it, and says that the
# adapter was given back.
cut_short() {
  [ "$signalled_commands" -lt "$1" ] && [ "$ended_status" = 130 ] &&
    grep -q 'interrupted; .* was given back' /run/signalled
}

# A run tells of the adapter when it is up, with the commands that this took.
in_bring_up() { cut_short 10000 && ! grep -q '^commands .* issued, ' /run/signalled; }
in_making() {
  up=$(sed -n 's/^commands *\([0-9]*\) issued, .*/\1/p' /run/signalled)
  cut_short "$1" && [ "${up:-10000}" -le "$signalled_commands" ]
}

# gives_back: the signal met a run that had begun to give things back, by its own count, and that
# went on with it.
gives_back() {
  begun=$(sed -n 's/^commands *\([0-9]*\) issued by now.*/\1/p' /run/signalled)
  [ "${begun:-10000}" -le "$signalled_commands" ] && [ $((ended_commands - signalled_commands)) -ge 4 ]
}

# beside TRIES: 0, 1, -1, 2, -2 and so on.
beside() { echo $(($1 % 2 ? ($1 + 1) / 2 : -($1 / 2))); }

# interrupt PART FIRST LAST JUDGE...: once at each instant of the part. A signal that the judge says
# came at another time does not count, and is sent again, a few commands earlier or later: polls
# make all runs of a busy machine longer or shorter than the one that was recorded.
interrupt() {
  part=$1 first=$2 last=$3
  shift 3
  struck=0
  while [ $struck -lt $instants ]; do
    tries=0
    while
      slowly
      signalled_at INT $((first + (last - first) * struck / instants + $(beside $tries))) 0 1
      quickly
      [ "$ended_status" = 0 ] || [ "$ended_status" = 130 ] ||
        fail "$part, command $signalled_commands: status $ended_status: $(cat /run/signalled)"
      ! "$@"
    do
      tries=$((tries + 1))
      [ $tries -lt 12 ] || fail "$part is not struck: command $signalled_commands of $ended_commands: $(cat /run/signalled)"
    done
    say "$hca: SIGINT in $part, at command $signalled_commands of $whole: status $ended_status"
    works "an interruption in $part"
    struck=$((struck + 1))
  done
}

interrupt_traffic() {
  struck=0
  while [ $struck -lt $instants ]; do
    # Traffic of this length is always met.
    signalled_at INT $((at_objects + 4)) 0.$((50 + 20 * struck)) $endless
    cut_short 10000 || fail "traffic: status $ended_status: $(cat /run/signalled)"
    say "$hca: SIGINT in traffic"
    works "an interruption in traffic"
    struck=$((struck + 1))
  done
}

log_mark
for hca in 0000:00:08.0 0000:00:09.0; do
  bind_vfio $hca || fail "vfio-pci does not take $hca"
  device=hca0
  [ $hca = 0000:00:08.0 ] || device=hca1
  slowly || fail "the fault cannot be set"
  record
  interrupt bring-up 1 $((at_objects - 3)) in_bring_up
  # The first half of what objects cost is their making. There are few of those commands: a busy
  # machine misses some.
  made=$((at_objects + (at_teardown - at_objects) / 2))
  interrupt "the making of objects" $((at_objects - 1)) $((made - 4)) in_making $made
  quickly
  interrupt_traffic
  interrupt teardown $((at_teardown + 3)) $((whole - 10)) gives_back
done
linux_works 0000:00:08.0 0000:00:09.0
log_clean || fail "the kernel's log"
no_complaints
