# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: signals to hcactl ping at instants that are commands, so that it does not matter how
# fast the machine is. They set `hca`, the address of the adapter, and `device`, its id. Wants
# lib.sh alone. Put into the guest with
#   # options: --file tests/guest/hcactl_instants.sh:/guest/hcactl_instants.sh
# shellcheck disable=SC2034,SC2154 # hca and device are the case's, and it reads what is set here

# Commands that take this long, one after the other, leave time for a signal between one and the
# next.
slowly() {
  host set x-fault-commands-side-by-side false "$device" && host set x-fault-command-latency 20000000 "$device"
}
quickly() { host set x-fault-command-latency 0 "$device"; }
commands() { host get commands "$device"; }
endless=100000

# record: which commands of a run begin its parts. Objects are made ahead of the traffic and
# destroyed behind it.
record() {
  record_commands=$(commands)
  hcactl ping "$hca" --messages 1 >/run/output 2>&1 || fail "the run to be recorded: status $?: $(cat /run/output)"
  whole=$(($(commands) - record_commands))
  at_objects=$(sed -n 's/^commands *\([0-9]*\) issued, .*/\1/p' /run/output)
  at_teardown=$(sed -n 's/^commands *\([0-9]*\) issued by now.*/\1/p' /run/output)
  [ "$at_objects" -gt 0 ] && [ "$at_teardown" -gt "$at_objects" ] && [ "$whole" -gt "$at_teardown" ] ||
    fail "no parts of a run in: $(cat /run/output)"
  say "$hca: of a run's $whole commands $at_objects bring up, $((at_teardown - at_objects)) make objects and destroy them"
}

# signalled_at SIGNAL COMMANDS SECONDS MESSAGES: a run that gets the signal so long after it has
# issued so many commands. How many it had issued just before the signal is in signalled_commands,
# and at its end in ended_commands; its exit status is in ended_status, its output in
# /run/signalled.
signalled_at() {
  signalled_from=$(commands)
  hcactl ping "$hca" --messages "$4" >/run/signalled 2>&1 &
  signalled_process=$!
  signalled_looks=0
  signalled_commands=0
  while kill -0 $signalled_process 2>/dev/null && [ $signalled_commands -lt "$2" ]; do
    signalled_looks=$((signalled_looks + 1))
    [ $signalled_looks -lt 500 ] || fail "a run that does not come to command $2"
    signalled_commands=$(($(host reach commands $((signalled_from + $2)) "$device") - signalled_from))
  done
  sleep "$3"
  kill "-$1" $signalled_process 2>/dev/null
  ended_status=0
  wait $signalled_process || ended_status=$?
  ended_commands=$(($(commands) - signalled_from))
}
