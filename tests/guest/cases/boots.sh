#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The guest itself, without the adapter: what the other cases stand on works, and leaves the
# kernel's log clean.
# options: --no-device
. /usr/lib/guest/lib.sh
log_mark

say "an IOMMU with interrupt remapping"
dmesg | grep -q 'DMAR-IR: Enabled IRQ remapping' || fail "no interrupt remapping"
[ -n "$(ls /sys/kernel/iommu_groups)" ] || fail "no IOMMU groups"

say "the tools run"
for tool in "ip link" "ibv_devices" "lspci" "rdma link" "modinfo mlx4_core"; do
  $tool >/run/output 2>&1 || fail "$tool: $(cat /run/output)"
done

say "the modules load and go"
for module in ib_uverbs ib_umad rdma_ucm ib_ipoib vfio-pci vfio_iommu_type1 mlx4_ib mlx4_en; do
  modprobe "$module" || fail "modprobe $module"
done
modprobe -r mlx4_en mlx4_ib || fail "modprobe -r mlx4_en mlx4_ib"

say "the host answers"
host qmp '{"execute":"query-status"}' | grep -q running || fail "QMP"
host get no-such-property 2>/dev/null && fail "a property that does not exist was read"

log_clean || fail "the kernel's log"
say "a line at level err is seen"
echo '<3>freehca: this line is meant to be there' >/dev/kmsg
log_clean >/dev/null && fail "log_clean did not see a new line"
say "done"
