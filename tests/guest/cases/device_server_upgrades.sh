#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# A new process takes the place of the adapter's again and again, with Debian's own QEMU as the
# client, while Linux's drivers work: RDMA writes, rping and NVMe over RDMA go on. No event reaches
# a program, no port goes down, and the kernel says nothing.
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
one_guest_up
for _ in $(seq "${UPGRADES:-1}"); do
  upgraded
done
one_guest_down
log_clean || fail "the kernel's log"
no_complaints
say "all done"
