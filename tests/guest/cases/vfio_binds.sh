#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# VFIO in the guest, shown with a simple device of QEMU's own: its group behind the virtual IOMMU is
# viable.
# options: --no-device -- -device edu
. /usr/lib/guest/lib.sh
log_mark
address=$(basename "$(dirname "$(grep -l 0x11e8 /sys/bus/pci/devices/*/device)")")
bind_vfio "$address" || fail "vfio-pci does not take $address"
group=$(basename "$(readlink "/sys/bus/pci/devices/$address/iommu_group")")
[ -c "/dev/vfio/$group" ] || fail "no /dev/vfio/$group"
[ "$(ls "/sys/kernel/iommu_groups/$group/devices")" = "$address" ] || fail "the group has other members"
log_clean || fail "the kernel's log"
