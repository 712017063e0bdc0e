# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What is tried on x86-64 alone. bare_test.py mixes these into its first machine."""
import cases

# Bytes of code and data that pingpong may have, without the arena and what begins as zeros.
MOST_LOADED = 96 * 1024


class PC(cases.Cases):
    def test_pingpong_is_small(self):
        self.boot_and_pass("pingpong")
        found = self.said(r"^image +(\d+) bytes of code and data, \d+ of")
        self.assertLessEqual(int(found.group(1)), MOST_LOADED)

    def test_bars_above_4_gib(self):
        # Firmware puts them there when there is no room below.
        many = ("-device", "mlx4,bar2-size=128M") * 9
        self.boot_and_pass("bringup", *many)
        self.said("addresses from firmware", r"BAR 2 at 0x[1-9a-f][0-9a-f]{8}, 134217728 bytes")

    def test_an_iommu_that_is_off(self):
        iommu = ("-M", "q35,kernel-irqchip=split", "-device", "intel-iommu,intremap=on")
        self.boot_and_pass("pingpong", *iommu, "-device", "mlx4")


OF = {"x86_64": (PC,)}
