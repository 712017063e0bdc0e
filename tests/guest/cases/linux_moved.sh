#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# A guest is moved to another QEMU process while Linux's own drivers work, in loopback: by a
# snapshot that the next process loads, and by live migration.
# RDMA writes of perftest, pings of rping with verified data, and NVMe over RDMA with checked blocks
# go on, and no port's state changes. One processor: tests/guest/moves.py tells why.
# options: --memory 512M --smp 1
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_moves.sh:/guest/linux_moves.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/linux_moves.sh
. /guest/linux_moves.sh

log_mark
linux_up
ipoib_up ib0 10.0.1.1
nvme_target 10.0.1.1
nvme_host 10.0.1.1
downs=$(links_downed)
events_start
serve ib_write_bw -d mlx4_0 -F -s 65536 -n 2000
serve rping -s -a 10.0.1.1 -C 50 -S 4096 -V
load writes writes_once -d mlx4_0 -F -s 65536 -n 2000 localhost
load pings pings_once 10.0.1.1
load blocks blocks_once
for kind in ${MOVES:-snapshot live}; do
  moved "$kind"
done
loads_end
servers_end
events_end
[ "$(links_downed)" = "$downs" ] || fail "a link went down"
nvme_host_down
nvme_target_down
linux_down
log_clean || fail "the kernel's log"
no_complaints
say "all done"
