# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What is tried on x86-64 alone. bare_test.py mixes these into its first machine."""
import cases
import machines

# Bytes of code and data that pingpong may have, without the arena and what begins as zeros.
MOST_LOADED = 96 * 1024


class PC(cases.Cases):
    def test_pingpong_is_small(self):
        self.boot_and_pass("pingpong")
        found = self.said(r"^image +(\d+) bytes of code and data, \d+ of")
        self.assertLessEqual(int(found.group(1)), MOST_LOADED)

    def test_an_exception_with_an_error_code_and_one_without(self):
        for word, vector in (("x-fault-access", 14), ("x-fault-instruction", 6)):
            self.boot("bringup", words=word)
            self.said(
                rf"^EXCEPTION +{vector} at 0x[0-9a-f]{{16}}, error code {2 * (vector == 14)}$"
            )
            self.said(r"stack pointer 0x[0-9a-f]{16}$")

    def test_bars_above_4_gib(self):
        # Firmware puts them there when there is no room below.
        many = ("-device", "mlx4,bar2-size=128M") * 9
        self.boot_and_pass("bringup", *many)
        self.said("addresses from firmware", r"BAR 2 at 0x[1-9a-f][0-9a-f]{8}, 134217728 bytes")

    def test_bars_above_512_gib(self):
        # Firmware puts them behind where memory may be plugged in.
        many = ("-device", "mlx4,bar2-size=128M") * 9
        self.boot_and_pass("bringup", *many, memory="4G,slots=1,maxmem=600G")
        self.said("addresses from firmware", r"BAR 2 at 0x[89a-f][0-9a-f]{9}, 134217728 bytes")

    def test_an_iommu_that_is_off(self):
        iommu = ("-M", "q35,kernel-irqchip=split", "-device", "intel-iommu,intremap=on")
        self.boot_and_pass("pingpong", *iommu, "-device", "mlx4")

    def test_a_machine_without_pci_express(self):
        self.boot_and_fail(
            "looking for configuration space", "no PCI Express", "q35", "-M", "pc", quiet=False
        )

    def test_several_processors(self):
        self.boot_and_pass("pingpong", "-smp", "4", *machines.ADAPTER)


OF = {"x86_64": (PC,)}
