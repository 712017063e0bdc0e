#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Four threads of one program move verified data over VFIO for a minute, and for another in which
# the program resets the adapter ten times.
# program: hcactl
# options: --driver vfio --smp 4
# tier: long
# timeout: 400
. /usr/lib/guest/lib.sh
log_mark
hca=$(hca_address) || fail "no adapter"

# traffic RESETS OPTIONS...: each thread has moved something, and begun anew so many times.
traffic() {
  resets=$1
  shift
  say "$@"
  hcactl ping "$hca" --threads 4 "$@" >/run/report 2>&1 || { cat /run/report; fail "$*"; }
  cat /run/report
  moving=$(grep -c "^ *owner [0-3] *[1-9][0-9]* *$resets\$" /run/report)
  [ "$moving" = 4 ] || fail "$moving of 4 threads have moved something and begun anew $resets times"
}
traffic 0 --seconds 60
traffic 10 --seconds 60 --recover 10
complaints=$(host get complaints) || fail "the complaint counter cannot be read"
[ "$complaints" = 0 ] || fail "the model had $complaints complaints"
log_clean || fail "the kernel's log"
