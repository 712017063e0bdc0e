# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The device behind a root port: plugged and unplugged again and again."""
import unittest

from machine import Machine

SLOT_CONTROL_FROM_CAP = 0x18
POWER_OFF, INDICATOR_OFF = 0x400, 0x300


def slot_control(port):
    return next(at for at, number in port.capabilities() if number == 0x10) + SLOT_CONTROL_FROM_CAP


class Hotplug(unittest.TestCase):
    def test_twenty_times(self):
        with Machine(
            "-global",
            "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
            "-device",
            "pcie-root-port,id=port1,slot=1,chassis=1",
        ) as machine:
            port = machine.function(1)
            control = slot_control(port)
            port.write(0x18, 0x010100)
            port.write(0x20, 0xE1F0E000)
            port.write(0x24, 0xE9F1E801)
            port.write(0x04, 0x6, 2)
            for _ in range(20):
                port.write(control, 0x100 | 0x100, 2)
                machine.qmp("device_add", driver="mlx4", id="hca0", bus="port1")
                function = machine.function(0, bus=1)
                bar0, _ = function.enable()
                self.assertEqual(0x100715B3, function.read(0))
                self.assertEqual(0xF7010000, machine.read(bar0 + 0xF0014))
                machine.qmp("device_del", id="hca0")
                port.write(control, POWER_OFF | INDICATOR_OFF, 2)
                self.assertEqual("hca0", self.deleted(machine))
                self.assertEqual(0xFFFFFFFF, function.read(0))

    @staticmethod
    def deleted(machine):
        while True:
            data = machine.wait_event("DEVICE_DELETED")
            if "device" in data:
                return data["device"]
