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
one_guest_up
for kind in ${MOVES:-snapshot live}; do
  moved "$kind"
done
one_guest_down
log_clean || fail "the kernel's log"
no_complaints
say "all done"
