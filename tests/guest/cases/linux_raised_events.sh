#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Events that an adapter in order does not raise, raised one by one under Linux's driver. It reads
# of each what the model meant, answers a required operation, and goes on.
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

kernel_said() { dmesg | grep -q "$1"; }

# raised EVENT LINE: the event, and what the kernel says of it.
raised() {
  host set x-fault-raise "$1" || fail "$1 cannot be raised"
  wait_for 10 kernel_said "$2" || fail "$1: $(dmesg | tail -n 5)"
  say "$1: $(dmesg | grep "$2" | tail -n 1)"
}

answers() { [ "$(host get "operations_$1")" = "$2" ]; }

linux_up
# The lines of the events are of level warn and err: no check of the log.
raised fatal_warning "Temperature Threshold was reached! Threshold: 105 celsius degrees; Current Temperature: 110"
raised fatal_warning:7 "Unhandled event FATAL WARNING (1b), subtype 07"
raised ecc_detect:3 "Unhandled event 0e(03)"
raised operation_required:0x11 "Bad type for required operation"
wait_for 10 answers refused 1 || fail "Linux has not answered the operation of an unknown type"
host set x-fault-raise operation_required || fail "operation_required"
wait_for 10 answers "done" 1 || fail "Linux has not answered the required operation"
# IPoIB and the agents hear of these; the kernel says nothing at its usual level.
for event in client_reregister pkey_change gid_change client_reregister:0x15:2; do
  host set x-fault-raise "$event" || fail "$event"
done
# Nobody asks for it without the capability.
host set x-fault-raise recoverable_error && fail "recoverable_error was raised"
sleep 1
for port in 1 2; do
  wait_for 30 port_active mlx4_0 $port || fail "port $port is not active"
done
[ "$(host get events_raised)" = 9 ] || fail "$(host get events_raised) events were raised"
no_complaints
log_mark
pair ibv_rc_pingpong -d mlx4_0 -g 0 -n 100
linux_down
log_clean || fail "the kernel's log after the events"
no_complaints
