# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The expansion ROM, which is there when the user gives one. That a machine boots from it shows
test_ipxe_ethernet.py."""
import os
import tempfile
import unittest

from machine import Machine

SIZE, PLACE, OWN_PLACE = 0x10000, 0xEC000000, 0x30
SOFT_RESET = 0xF0010
# Shorter than its BAR, as files of ROMs are.
CONTENT = bytes((0x55, 0xAA)) + bytes(at * 7 & 0xFF for at in range(SIZE - 5000))


class Rom(unittest.TestCase):
    def start(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "rom")
        with open(path, "wb") as file:
            file.write(CONTENT)
        self.machine = Machine("-device", f"mlx4,id=hca0,romfile={path}").__enter__()
        self.addCleanup(self.machine.__exit__)
        self.function = self.machine.function()
        self.bar0, _ = self.function.enable()
        self.function.write(OWN_PLACE, PLACE | 1)

    def test_its_bar_has_the_next_power_of_two_and_the_file(self):
        self.start()
        self.function.write(OWN_PLACE, 0xFFFFFFFE)
        self.assertEqual(0x1_0000_0000 - SIZE, self.function.read(OWN_PLACE))
        self.function.write(OWN_PLACE, PLACE | 1)
        self.assertEqual(CONTENT, self.machine.read_bytes(PLACE, len(CONTENT)))
        self.function.write(OWN_PLACE, PLACE)
        self.assertNotEqual(CONTENT[:4], self.machine.read_bytes(PLACE, 4))

    def test_without_a_file_there_is_none(self):
        with Machine("-device", "mlx4") as machine:
            machine.function().write(OWN_PLACE, 0xFFFFFFFF)
            self.assertEqual(0, machine.function().read(OWN_PLACE))

    def test_a_reset_takes_its_address(self):
        self.start()
        self.machine.write(self.bar0 + SOFT_RESET, 0x01000000)
        self.assertEqual(0, self.function.read(OWN_PLACE))
        self.function.enable()
        self.assertNotEqual(CONTENT[:4], self.machine.read_bytes(PLACE, 4))
        self.function.write(OWN_PLACE, PLACE | 1)
        self.assertEqual(CONTENT[:4], self.machine.read_bytes(PLACE, 4))

    def test_of_a_card_that_is_pulled_it_is_gone(self):
        self.start()
        self.machine.set("x-fault-removed", True)
        self.assertNotEqual(CONTENT[:4], self.machine.read_bytes(PLACE, 4))
        self.machine.set("x-fault-removed", False)
        self.function.enable()
        self.function.write(OWN_PLACE, PLACE | 1)
        self.assertEqual(CONTENT[:4], self.machine.read_bytes(PLACE, 4))
