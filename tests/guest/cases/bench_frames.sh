#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# A program on libdpdk and our network interface over VFIO send and receive the same frames, in one
# boot, in turns, RUNS times each. A hub joins both ports of the adapter. Every figure is a line of
# JSON, which bench/frames/compare.py reads. The guest's clock counts instructions.
# program: freehca_bench_frames_dpdk freehca_bench_frames_vfio
# options: --more-packages dpdk --memory 768M --icount
# options: --device mlx4,link1=eth,link2=eth,netdev1=net1,netdev2=net2
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: -- -netdev hubport,id=net1,hubid=0 -netdev hubport,id=net2,hubid=0
# tier: long
# timeout: 600
# then: /usr/bin/python3 -B bench/frames/compare.py --check build/logs/guest-bench_frames.log
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh

log_mark
# A message that goes out of the serial port costs instructions.
dmesg -n warn
hca=$(hca_address) || fail "no adapter"
# Linux sends nothing by itself.
sysctl -q -w net.ipv6.conf.default.disable_ipv6=1 || fail "IPv6"
modprobe vfio-pci && modprobe vfio_iommu_type1 || fail "modprobe"
for run in $(seq "${RUNS:-1}"); do
  echo "{\"run\": $run}"
  ethernet_up log_num_mgm_entry_size=-1
  modprobe mlx4_ib && modprobe ib_uverbs || fail "modprobe mlx4_ib, ib_uverbs"
  wait_for 10 [ -e /dev/infiniband/uverbs0 ] || fail "no device uverbs0"
  for how in plain checksums; do
    freehca_bench_frames_dpdk --no-huge -m 128 --iova-mode=va --lcores 0@0 --no-telemetry \
      --log-level error -a "$hca" -- $how || fail "libdpdk, $how: status $?"
  done
  ethernet_down
  bind_vfio "$hca" || fail "vfio-pci does not take the adapter"
  for how in plain checksums; do
    freehca_bench_frames_vfio "$hca" $how || fail "freehca, $how: status $?"
  done
  echo "$hca" >"/sys/bus/pci/devices/$hca/driver/unbind" || fail "vfio-pci does not let go"
done
log_clean || fail "the kernel's log"
no_complaints
