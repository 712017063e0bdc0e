# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: the adapter goes back and forth between Linux's driver and ours.

# driver_change TIMES
driver_change() {
  change_address=$(hca_address) || fail "no adapter"
  log_mark
  linux_up
  modprobe vfio-pci && modprobe vfio_iommu_type1 || fail "the modules of VFIO"
  change_round=1
  while [ "$change_round" -le "$1" ]; do
    say "round $change_round of $1"
    bind_driver "$change_address" vfio-pci || fail "vfio-pci does not take the adapter"
    hcactl ping "$change_address" || fail "hcactl ping: status $?"
    bind_driver "$change_address" mlx4_core || fail "mlx4_core does not take the adapter"
    wait_for 10 [ -e /sys/class/infiniband/mlx4_0 ] || fail "no device mlx4_0"
    for change_port in 1 2; do
      wait_for 20 port_active mlx4_0 "$change_port" || fail "port $change_port is not active"
    done
    change_round=$((change_round + 1))
  done
  pair ibv_rc_pingpong -d mlx4_0 -i 1 -n 50 -c
  linux_down
  log_clean || fail "the kernel's log is not clean"
  no_complaints
}
