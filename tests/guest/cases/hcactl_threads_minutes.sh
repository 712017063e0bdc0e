#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Four threads of one program move verified data over VFIO for a minute, and for another in which
# the program resets the adapter ten times.
# program: hcactl
# options: --driver vfio --smp 4
# tier: long
. /usr/lib/guest/lib.sh
log_mark
hca=$(hca_address) || fail "no adapter"

# traffic RESETS ENDED OPTIONS...: each thread has moved something, and begun anew so many times.
# The resets ended so many of its requests (a pattern).
traffic() {
  resets=$1 ended=$2
  shift 2
  say "$@"
  hcactl ping "$hca" --threads 4 "$@" >/run/report 2>&1 || { cat /run/report; fail "$*"; }
  cat /run/report
  moving=$(grep -c "^ *owner [0-3] *[1-9][0-9]* *$resets *$ended\$" /run/report)
  [ "$moving" = 4 ] ||
    fail "$moving of 4 threads have messages, $resets resets and $ended requests ended by these"
}
traffic 0 0 --seconds 60
# Each reset ends at least one request of each thread.
traffic 10 '[1-9][0-9][0-9]*' --seconds 60 --recover 10
complaints=$(host get complaints) || fail "the complaint counter cannot be read"
[ "$complaints" = 0 ] || fail "the model had $complaints complaints"
log_clean || fail "the kernel's log"
