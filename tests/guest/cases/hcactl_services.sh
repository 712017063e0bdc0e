#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Our driver over VFIO moves verified data by each transport service, with receives of their own and
# shared ones, and with completions that somebody polls and ones that are counted.
# program: hcactl
# options: --driver vfio
. /usr/lib/guest/lib.sh
log_mark
hca=$(hca_address)
for service in rc uc ud; do
  for more in "" --shared-receives --counted "--shared-receives --counted"; do
    say "$service $more"
    # shellcheck disable=SC2086 # the options are meant to be split
    hcactl ping "$hca" --service $service $more --messages 3 >/run/report || { cat /run/report; fail "hcactl ping --service $service $more"; }
    tail -n 2 /run/report
  done
done
complaints=$(host get complaints) || fail "the complaint counter cannot be read"
[ "$complaints" = 0 ] || fail "the model had $complaints complaints"
log_clean || fail "the kernel's log"
