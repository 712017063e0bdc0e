#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Firmware that answers with an error, or never, in bring-up and in traffic: hcactl says which and
# of what, with an exit code of its own for each, and the next run, and Linux's driver, find the
# adapter in order. On a card that cannot reset its function, so that only its reset register ends
# the silence.
# program: hcactl
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
# options: --virtual-time --device mlx4,flr=off
# again: device_server long --device-server
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh

# fault COMMAND:FATE: what becomes of firmware commands from now on. Without: all of them run.
fault() { host set x-fault-command "\"$1\"" || fail "the fault $1 cannot be set"; }

error_then_works() {
  fault "$1"
  refused 20 "$2" hcactl "$3" "$hca"
  grep -q "refuses" /run/output || fail "$1: it is not said that firmware refuses: $(cat /run/output)"
  fault ""
  works "$1"
}
silence_then_works() {
  fault "$1"
  refused 21 "does not answer" hcactl "$2" "$hca"
  grep -q "hcactl reset $hca" /run/output || fail "$1: no remedy is named: $(cat /run/output)"
  fault ""
  works "$1"
}

hca=$(hca_address) || fail "no adapter"
bind_vfio "$hca" || fail "vfio-pci does not take the adapter"
works "binding"

say "firmware that answers with an error"
error_then_works MAP_FA:0x01 "internal error" up
error_then_works INIT_HCA:0x08 "exceeds limits" up
error_then_works RTR2RTS_QP:0x03 "bad parameter" ping

say "for one command only: the next run meets no fault"
fault QUERY_PORT:0x05:2
refused 20 "bad resource" hcactl up "$hca"
works "the second QUERY_PORT was refused"
fault ""

# The driver waits a minute for an answer.
say "firmware that never answers"
silence_then_works INIT_HCA:silent up

say "firmware that does what it is told and does not say so"
silence_then_works RTR2RTS_QP:lost ping

say "an internal error of the adapter, and a run after it"
works "nothing"
host set x-fault-catastrophic true || fail "the internal error cannot be raised"
works "an internal error"
[ "$(host get x-fault-catastrophic)" = false ] || fail "the adapter still has its internal error"

say "Linux's driver is well afterwards"
log_mark
linux_works
log_clean || fail "the kernel's log"
no_complaints
