#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# A machine without an IOMMU: hcactl says so, and what to do, and Linux's driver works on.
# program: hcactl
# options: --no-iommu
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh

hca=$(hca_address) || fail "no adapter"
[ -z "$(ls /sys/kernel/iommu_groups 2>/dev/null)" ] || fail "this guest has an IOMMU"
log_mark
for command in up ping reset; do refused 14 'intel_iommu=on' hcactl "$command" "$hca"; done
refused 14 '"code": 14' hcactl --json up "$hca"
hcactl list | grep -q "^$hca .* no IOMMU group" || fail "hcactl list: $(hcactl list)"
hcactl info "$hca" | grep -q 'in no IOMMU group' || fail "hcactl info: $(hcactl info "$hca")"
linux_up
refused 14 'no IOMMU' hcactl up "$hca"
linux_down
log_clean || fail "the kernel's log"
no_complaints
