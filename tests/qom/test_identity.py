# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Configuration space as captures of real cards show it (docs/hardware-pci.md)."""
import unittest

from machine import Machine

GEN3 = {
    "chain": [(0x40, 0x01), (0x48, 0x03), (0x9C, 0x11), (0x60, 0x10), (0xC0, 0x09)],
    "extended": [(0x100, 0x0E, 1), (0x148, 0x03, 1), (0x154, 0x01, 2), (0x18C, 0x19, 1)],
}
GEN2 = {
    "chain": [(0x40, 0x01), (0x48, 0x03), (0x9C, 0x11), (0x60, 0x10)],
    "extended": [(0x100, 0x0E, 1), (0x148, 0x03, 1)],
}
VARIANTS = {
    "connectx3-pro": {
        "id": 0x100715B3,
        "class": 0x02800000,
        "power": 8,
        "devcap": 0x10008E02,
        "lnkcap": 0x0843F483,
        **GEN3,
    },
    "connectx3": {
        "id": 0x100315B3,
        "class": 0x02800000,
        "power": 8,
        "devcap": 0x10008E02,
        "lnkcap": 0x0843F483,
        **GEN3,
    },
    "connectx2": {
        "id": 0x673C15B3,
        "class": 0x0C0600B0,
        "power": 0,
        "devcap": 0x10008E01,
        "lnkcap": 0x0803F482,
        **GEN2,
    },
}


class Identity(unittest.TestCase):
    def test_another_device_id(self):
        with Machine("-device", "mlx4,id=hca0,x-device-id=0x1013") as machine:
            self.assertEqual(0x101315B3, machine.function().open_window().read(0x00))

    def test_each_variant(self):
        for name, expected in VARIANTS.items():
            with self.subTest(name), Machine("-device", f"mlx4,variant={name},id=hca0") as machine:
                function = machine.function().open_window()
                self.assertEqual(expected["id"], function.read(0x00))
                self.assertEqual(0x00100000, function.read(0x04))
                self.assertEqual(expected["class"], function.read(0x08))
                self.assertEqual(0, function.read(0x0E, 1))
                self.assertEqual(1, function.read(0x3D, 1))
                self.assertEqual(0, function.read(0x30))
                self.assertEqual(expected["chain"], function.capabilities())
                self.assertEqual(expected["extended"], function.extended_capabilities())
                self.assertEqual(3, function.read(0x42, 2))
                self.assertEqual(expected["power"], function.read(0x44, 2))
                self.assertEqual(0x0002, function.read(0x62, 2))
                self.assertEqual(expected["devcap"], function.read(0x64))
                self.assertEqual(expected["lnkcap"], function.read(0x6C))
                self.assertEqual(0x1F, function.read(0x84))

    def test_subsystem_goes_by_the_number_of_ports(self):
        for given, expected in (
            ("variant=connectx3,ports=2", 0x005015B3),
            ("variant=connectx3,ports=1", 0x005115B3),
            ("variant=connectx2,ports=1", 0x002215B3),
        ):
            with self.subTest(given), Machine("-device", "mlx4," + given) as machine:
                self.assertEqual(expected, machine.function().read(0x2C))

    def test_class_code_is_a_setting(self):
        with Machine("-device", "mlx4,class-code=0x020700") as machine:
            self.assertEqual(0x02070000, machine.function().read(0x08))

    def test_bars(self):
        for given, low in (("mlx4", 0xFF80000C), ("mlx4,bar2-size=32M", 0xFE00000C)):
            with self.subTest(given), Machine("-device", given) as machine:
                function = machine.function()
                for offset, expected in ((0x10, 0xFFF00004), (0x18, low), (0x20, 0), (0x24, 0)):
                    function.write(offset, 0xFFFFFFFF)
                    self.assertEqual(expected, function.read(offset), hex(offset))

    def test_msix(self):
        with Machine("-device", "mlx4") as machine:
            function = machine.function()
            self.assertEqual(127, function.read(0x9E, 2))
            self.assertEqual(0x7C000, function.read(0xA0))
            self.assertEqual(0x7D000, function.read(0xA4))
            bar0, _ = function.enable()
            last = bar0 + 0x7C000 + 127 * 16
            self.assertEqual(1, machine.read(last + 12), "vectors are masked after reset")
            machine.write(last, 0xFEE00000)
            self.assertEqual(0xFEE00000, machine.read(last))

    def test_a_machine_that_takes_no_messages(self):
        """Without a local APIC nothing does; the card is there all the same."""
        with Machine("-cpu", "qemu64,-apic", "-device", "mlx4,id=hca0") as machine:
            function = machine.function().open_window()
            chain = [one for one in GEN3["chain"] if one[1] != 0x11]
            self.assertEqual(chain, function.capabilities())
            machine.set("x-fault-removed", True)
            machine.set("x-fault-removed", False)
            self.assertEqual(0x100715B3, function.read(0x00))

    def test_serial_number_is_the_node_guid(self):
        with Machine("-device", "mlx4,guid=0002:c903:00f0:ca10") as machine:
            function = machine.function().open_window()
            self.assertEqual(0x00F0CA10, function.extended(0x14C))
            self.assertEqual(0x0002C903, function.extended(0x150))

    def test_two_cards_differ(self):
        with Machine("-device", "mlx4", "-device", "mlx4") as machine:
            guids = [machine.function(slot).open_window().extended(0x14C) for slot in (1, 2)]
            self.assertEqual(guids[0] + 16, guids[1])

    def test_error_reporting_after_reset(self):
        with Machine("-device", "mlx4") as machine:
            function = machine.function().open_window()
            self.assertEqual(
                [0, 0, 0x00062010, 0, 0x2000, 0xA0],
                [function.extended(0x154 + offset) for offset in range(4, 0x1C, 4)],
            )

    def test_flr_is_a_setting(self):
        with Machine("-device", "mlx4,flr=off") as machine:
            self.assertEqual(0x00008E02, machine.function().read(0x64))
