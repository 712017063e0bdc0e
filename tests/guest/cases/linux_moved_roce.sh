#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests whose adapters have an Ethernet port each, cabled to each other. One of them is moved
# to another QEMU process while both work: RDMA writes, rping and NVMe by RoCE v2, and TCP by
# mlx4_en, all with checked data, go on, and no port's state changes.
# options: --hosts 2 --device mlx4,link1=eth,ports=1 --memory 512M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_two_hosts.sh:/guest/linux_two_hosts.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: --file tests/guest/roce_traffic.sh:/guest/roce_traffic.sh
# options: --file tests/guest/linux_moves.sh:/guest/linux_moves.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/linux_two_hosts.sh
. /guest/linux_two_hosts.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh
# shellcheck source=tests/guest/roce_traffic.sh
. /guest/roce_traffic.sh
# shellcheck source=tests/guest/linux_moves.sh
. /guest/linux_moves.sh

log_mark
roce_up
find_gid mlx4_0 "RoCE v2" "$(ipv4_gid "10.0.1.$HOST_INDEX")"
moves_between_hosts 10.0.1.1 "${MOVES:-live}" -x "$gid"
ethernet_down
ethernet_clean
say "all done"
