#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# An adapter that shares its IOMMU group with another function of its slot: while another driver has
# that one, the group is not viable, and hcactl names it. Without a driver, or with vfio-pci, all is
# well. And VFIO without the driver of its IOMMU.
# program: hcactl
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
# options: --device mlx4,addr=8.0,multifunction=on -- -device e1000,addr=8.1,romfile=
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh

hca=$(hca_address) || fail "no adapter"
other=${hca%.0}.1
[ -e "/sys/bus/pci/devices/$hca/iommu_group/devices/$other" ] || fail "the functions share no group"
modprobe e1000 || fail "modprobe e1000"
[ -e "/sys/bus/pci/devices/$other/driver" ] || fail "e1000 has not taken $other"
log_mark
bind_vfio "$hca" || fail "vfio-pci does not take the adapter"
for command in up ping reset; do refused 15 "$other (e1000)" hcactl "$command" "$hca"; done
hcactl list | grep -q 'shared' || fail "hcactl list: $(hcactl list)"

say "the other function without a driver"
echo "$other" >/sys/bus/pci/drivers/e1000/unbind || fail "e1000 does not let go"
works "e1000 had gone"
say "the other function with vfio-pci"
bind_driver "$other" vfio-pci || fail "vfio-pci does not take $other"
works "vfio-pci took $other"

say "VFIO without the driver of its IOMMU"
modprobe -r vfio_iommu_type1 || fail "modprobe -r vfio_iommu_type1"
refused 14 'modprobe vfio_iommu_type1' hcactl up "$hca"
modprobe vfio_iommu_type1 || fail "modprobe vfio_iommu_type1"
works "vfio_iommu_type1 had come back"

say "Linux's drivers are well afterwards"
bind_driver "$other" e1000 || fail "e1000 does not take its function back"
linux_works
log_clean || fail "the kernel's log"
no_complaints
