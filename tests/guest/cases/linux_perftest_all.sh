#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The whole of perftest's matrix in loopback (linux_perftest.sh says what it is).
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_perftest.sh:/guest/linux_perftest.sh
# tier: long
# timeout: 3600
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_perftest.sh
. /guest/linux_perftest.sh

log_mark
linux_up
matrix_rows >/run/rows
say "$(wc -l </run/rows) runs to do"
matrix /run/rows
linux_down
log_clean || fail "the kernel's log"
no_complaints
