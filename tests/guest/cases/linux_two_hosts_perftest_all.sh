#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The whole of perftest's matrix between two guests (linux_perftest.sh says what it is), and the
# pingpongs with events.
# options: --hosts 2 --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_perftest.sh:/guest/linux_perftest.sh
# options: --file tests/guest/linux_two_hosts.sh:/guest/linux_two_hosts.sh
# tier: long
# timeout: 7200
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/linux_perftest.sh
. /guest/linux_perftest.sh
# shellcheck source=tests/guest/linux_two_hosts.sh
. /guest/linux_two_hosts.sh

log_mark
two_hosts_up
pingpongs -n 100 -e
# shellcheck disable=SC2034 # read by matrix
matrix_bytes=$((8 << 20))
matrix_rows >/run/rows
say "$(wc -l </run/rows) runs to do"
matrix /run/rows
two_hosts_down
log_clean || fail "the kernel's log"
no_complaints
