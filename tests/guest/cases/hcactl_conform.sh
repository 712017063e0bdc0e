#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The list of conformance over VFIO: told first, done when it is asked for, row for row as on the
# model in one process and in the images; and the report as a file.
# program: hcactl
# options: --driver vfio --file tests/conformance/rows.txt:/guest/rows.txt
. /usr/lib/guest/lib.sh
log_mark
hca=$(hca_address)

say "without --yes it is told, and nothing is done"
before=$(host get commands)
hcactl conform "$hca" >/run/list || fail "hcactl conform without --yes"
grep -q "hcactl conform $hca --yes" /run/list || fail "the list does not say how to go on"
[ "$(host get commands)" = "$before" ] || fail "the adapter was asked something"

say "with --yes"
hcactl conform "$hca" --yes --file /run/report.json >/run/report || { tail -n 20 /run/report; fail "hcactl conform --yes"; }
grep '^[a-z-]*/' /run/report >/run/rows
cmp -s /run/rows /guest/rows.txt || { diff /guest/rows.txt /run/rows; fail "other rows than on the model in one process"; }
tail -n 1 /run/report
grep -q '"differ": 0' /run/report.json || fail "the file says something else"
rows=$(grep -c '"row": ' /run/report.json)
[ "$rows" = "$(wc -l </guest/rows.txt)" ] || fail "the file has $rows rows"

say "the adapter works afterwards"
hcactl ping "$hca" --messages 2 >/run/ping || { cat /run/ping; fail "hcactl ping"; }
complaints=$(host get complaints) || fail "the complaint counter cannot be read"
[ "$complaints" = 0 ] || fail "the model had $complaints complaints"
log_clean || fail "the kernel's log"
