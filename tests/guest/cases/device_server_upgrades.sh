#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# A new process takes the place of the adapter's again and again, with Debian's own QEMU as the
# client, while Linux's drivers work: RDMA writes, rping, NVMe over RDMA, and TCP over IPoIB with
# checksums go on. No event reaches a program, no port goes down, and the kernel says nothing.
# options: --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_moves.sh:/guest/linux_moves.sh
# options: --device-server --device mlx4,restarts=on
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
copies_serve
load writes writes_once -d mlx4_0 -F -s 65536 -n 2000 localhost
load pings pings_once 10.0.1.1
load blocks blocks_once
load copies copies_once 10.0.1.1
for _ in $(seq "${UPGRADES:-1}"); do
  upgraded
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
