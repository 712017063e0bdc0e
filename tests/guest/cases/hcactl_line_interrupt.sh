#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Our driver over VFIO on an adapter without MSI-X: the kernel masks the line interrupt (INTx) each
# time, and it arrives again, before and after a reset.
# program: hcactl
# options: --driver vfio --device mlx4,x-msix=off
. /usr/lib/guest/lib.sh
log_mark
hca=$(hca_address) || fail "no adapter"
! lspci -v -s "$hca" | grep MSI-X || fail "the adapter has MSI-X"

# line_interrupts: the number of line interrupts of the function so far, 0 if none is armed.
line_interrupts() {
  awk -v name="vfio-intx($hca)" '$NF == name { for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i }
    END { print n + 0 }' /proc/interrupts
}

say "bring-up"
hcactl up "$hca" >/run/report || fail "hcactl up: $(cat /run/report)"
grep "completion by line interrupt" /run/report || fail "not by line interrupt: $(cat /run/report)"
hcactl up "$hca" --json >/run/report || fail "hcactl up --json"
grep '"line_interrupt": true' /run/report || fail "the document: $(cat /run/report)"

say "traffic"
hcactl ping "$hca" --messages 300 >/run/report 2>&1 &
traffic=$!
most=0
while kill -0 "$traffic" 2>/run/null; do
  now=$(line_interrupts)
  [ "$now" -le "$most" ] || most=$now
  sleep 0.3
done
wait "$traffic" || fail "hcactl ping: $(cat /run/report)"
tail -n 3 /run/report
say "$most line interrupts"
# Commands that are answered at once need no interrupt, so there are fewer than commands.
[ "$most" -ge 5 ] || fail "only $most line interrupts arrived"

say "after a reset"
hcactl reset "$hca" || fail "hcactl reset"
hcactl ping "$hca" --messages 100 >/run/report 2>&1 || fail "hcactl ping: $(cat /run/report)"
complaints=$(host get complaints) || fail "the complaint counter cannot be read"
[ "$complaints" = 0 ] || fail "the model had $complaints complaints"
log_clean || fail "the kernel's log"
