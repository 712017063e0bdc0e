#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests whose adapters have an Ethernet port each, cabled to each other: RDMA by Linux's own
# mlx4_ib, by RoCE v1 and v2, over IPv4 and IPv6; then the second host's driver gives way to
# Soft-RoCE on the same port, and both talk RoCE v2. All that passed the first one's port decodes,
# and its ICRCs are right.
# options: --hosts 2 --device mlx4,link1=eth,capture1=FILE.HOST --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_two_hosts.sh:/guest/linux_two_hosts.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: --file tests/guest/roce_traffic.sh:/guest/roce_traffic.sh
# then: tests/guest/check_frames.py --kinds tests/guest/kinds/roce.txt FILE.1
# again: device_server long --device-server
# again: device_server_no_iommu long --device-server --no-iommu
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

log_mark
roce_up
all_services="rc uc ud srq xsrq"
all_runs="send_bw write_bw write_bw_UC read_bw send_bw_UD atomic_bw"
four=$(ipv4_gid "10.0.1.$HOST_INDEX")
with_gid mlx4_0 "RoCE v2" "$four" "$all_services" "$all_runs"
with_gid mlx4_0 "IB/RoCE v1" "$four" "$all_services" "$all_runs"
with_gid mlx4_0 "RoCE v2" "^fd00:0001" "$all_services" "write_bw send_bw_UD"
connect "rdma-ping-19" rping -s -a 10.0.1.1 -C 20 -S 4096 -V -- rping -c -a 10.0.1.1 -C 20 -S 4096 -V -v
connect "rdma-ping-19" rping -s -a fd00:1::1 -C 20 -S 4096 -V -- rping -c -a fd00:1::1 -C 20 -S 4096 -V -v
connect "return status 0" ucmatose -b 10.0.1.1 -c 4 -C 20 -S 4096 -- ucmatose -s 10.0.1.1 -c 4 -C 20 -S 4096
connect "return status 0" udaddy -b 10.0.1.1 -c 4 -C 20 -S 1000 -- udaddy -s 10.0.1.1 -c 4 -C 20 -S 1000
connect "return status 0" mckey -m 224.0.1.5 -b 10.0.1.1 -- mckey -m 224.0.1.5 -b 10.0.1.2 -s

say "host 2 speaks by Soft-RoCE"
peer=mlx4_0
if [ "$HOST_INDEX" = 2 ]; then
  soft_roce_up
  peer=rxe0
fi
host sync "Soft-RoCE"
with_gid $peer "RoCE v2" "$four" "rc ud" "write_bw read_bw send_bw atomic_bw"
connect "rdma-ping-19" rping -s -a 10.0.1.1 -C 20 -S 4096 -V -- rping -c -a 10.0.1.1 -C 20 -S 4096 -V -v
host sync "all done"
[ "$HOST_INDEX" = 1 ] || rdma link delete rxe0
ethernet_down
ethernet_clean
say "all done"
