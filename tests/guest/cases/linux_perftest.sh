#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Pingpongs and a cross-section of perftest's matrix in loopback: each verb, service and figure once
# at least. linux_perftest_all has the whole. The adapter reads send queues ahead: what is not
# stamped would be a complaint.
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_perftest.sh:/guest/linux_perftest.sh
# options: --device mlx4,x-prefetch=on
# again: device_server long --device-server
# again: device_server_no_iommu long --device-server --no-iommu
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_perftest.sh
. /guest/linux_perftest.sh

log_mark
linux_up
pingpongs -n 100
pingpongs -n 100 -e
cat >/run/rows <<'END'
send RC lat 2 1 poll
send RC bw 65536 1 events
send RC bw 64 64 poll
send UC lat 64 1 events
send UC bw 1048576 1 poll
send UD lat 4096 1 poll
send UD bw 4096 64 poll
send XRC lat 4096 1 poll
send XRC bw 64 64 poll
write RC lat 64 1 poll
write RC bw 8388608 1 poll
write UC lat 65536 1 poll
write UC bw 4096 64 poll
write XRC lat 2 1 poll
write XRC bw 65536 64 poll
read RC lat 65536 1 events
read RC bw 1048576 1 poll
read RC bw 64 64 poll
read XRC lat 2 1 poll
read XRC bw 65536 64 poll
atomic RC lat 8 1 poll
atomic RC bw 8 64 poll
atomic XRC lat 8 1 events
atomic XRC bw 8 1 poll
END
matrix_rows >/run/all
while read -r row; do
  grep -qx "$row" /run/all || fail "no row of the whole matrix: $row"
done </run/rows
matrix /run/rows
linux_down
log_clean || fail "the kernel's log"
no_complaints
