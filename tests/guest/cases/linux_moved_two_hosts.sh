#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests with Linux's own drivers, cabled port to port. One of them is moved to another QEMU
# process while both work: RDMA writes, rping with verified data, NVMe over RDMA with checked
# blocks, and TCP over IPoIB with checksums go on, and no port's state changes.
# options: --hosts 2 --memory 512M
# tier: long
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_two_hosts.sh:/guest/linux_two_hosts.sh
# options: --file tests/guest/linux_moves.sh:/guest/linux_moves.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/linux_two_hosts.sh
. /guest/linux_two_hosts.sh
# shellcheck source=tests/guest/linux_moves.sh
. /guest/linux_moves.sh

log_mark
two_hosts_up
ping_far "10.0.1.$other" "datagram"
moves_between_hosts 10.0.1.1 "${MOVES:-live snapshot}"
two_hosts_down
log_clean || fail "the kernel's log"
no_complaints
say "all done"
