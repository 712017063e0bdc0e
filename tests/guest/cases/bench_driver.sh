#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Our driver over VFIO and libmlx4 over mlx4_ib do the same work, in one boot, in turns, RUNS times
# each. Every figure is a line of JSON, which bench/driver/compare.py reads; `./dev bench driver`
# has three runs. The guest's clock counts instructions. One run is enough for the bounds: the
# figures of requests are the same in each run, and each call is measured three times in a run.
# program: freehca_bench_driver_linux freehca_bench_driver_vfio
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --icount
# then: /usr/bin/python3 -B bench/driver/compare.py --check build/logs/guest-bench_driver.log
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

get() { host get "$1" || fail "the model's counter $1"; }
told() { echo "{\"driver\": \"libmlx4\", \"row\": \"$1\", \"instructions\": $2}"; }

log_mark
# A message that goes out of the serial port costs instructions.
dmesg -n warn
hca=$(hca_address) || fail "no adapter"
# Not the adapter's own: what else uses them has loaded them in most systems.
modprobe ib_uverbs && modprobe vfio-pci && modprobe vfio_iommu_type1 || fail "modprobe"
for run in $(seq "${RUNS:-1}"); do
  echo "{\"run\": $run}"
  before=$(get commands)
  freehca_bench_driver_linux bring-up || fail "bring-up by Linux: status $?"
  told "bring-up, commands" $(($(get commands) - before))
  told "bring-up, bytes of context memory lent" $(($(get icm_pages) * 4096))
  freehca_bench_driver_linux || fail "libmlx4: status $?"
  linux_down
  bind_vfio "$hca" || fail "vfio-pci does not take the adapter"
  freehca_bench_driver_vfio "$hca" || fail "freehca: status $?"
  echo "$hca" >"/sys/bus/pci/devices/$hca/driver/unbind" || fail "vfio-pci does not let go"
done
log_clean || fail "the kernel's log"
no_complaints
