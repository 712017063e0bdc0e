# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The device is unplugged while it works, once by its own hand: a guest may point an interrupt
message at the slot's registers. QEMU lives, and the slot takes another card."""
import unittest

import test_hotplug
from firmware import HCR, MAP_FA, NOP, OUTPUT, QUERY_FW, Firmware
from machine import Machine
from test_hotplug import INDICATOR_OFF, POWER_OFF, slot_control

GATEWAY_ADDRESS, GATEWAY_DATA = 0x58, 0x5C


class Unplug(unittest.TestCase):
    def setUp(self):
        self.machine = Machine(
            "-global",
            "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
            "-device",
            "pcie-root-port,id=port1,slot=1,chassis=1",
            "-device",
            "mlx4,id=hca0,bus=port1",
        ).__enter__()
        self.addCleanup(self.machine.__exit__)
        self.port = self.machine.function(1)
        self.control = slot_control(self.port)
        self.place()
        self.function = self.machine.function(0, bus=1)
        self.bar0, _ = self.function.enable()
        self.firmware = Firmware(self.machine, self.bar0)

    def place(self):
        """The port's bus and its windows."""
        self.port.write(0x18, 0x010100)
        self.port.write(0x20, 0xE1F0E000)
        self.port.write(0x24, 0xE9F1E801)
        self.port.write(0x04, 0x6, 2)

    def aim_at_slot(self):
        self.port.open_window()
        self.firmware.aim(
            self.function, self.port.WINDOW + (1 << 15) + self.control, POWER_OFF | INDICATOR_OFF
        )

    def expect_gone_and_another_works(self):
        self.assertEqual("hca0", test_hotplug.Hotplug.deleted(self.machine))
        self.assertEqual(0xFFFFFFFF, self.function.read(0))
        self.machine.step_clock(2000000000)
        self.place()
        self.port.write(self.control, 0x100, 2)
        self.machine.qmp("device_add", driver="mlx4", id="hca0", bus="port1")
        self.function.enable()
        self.assertEqual(0, self.firmware.command(QUERY_FW, output=OUTPUT))
        self.assertEqual(0, self.machine.get("counter-complaints"))

    def test_by_its_own_interrupt_message(self):
        self.firmware.bring_up()
        self.aim_at_slot()
        self.firmware.post(NOP, token=7, event=True)
        self.machine.step_clock(1000000)
        self.expect_gone_and_another_works()

    def test_by_its_own_interrupt_message_from_a_catastrophic_error(self):
        self.firmware.bring_up()
        self.aim_at_slot()
        self.machine.set("x-fault-catastrophic", True)
        self.expect_gone_and_another_works()

    def test_by_its_own_interrupt_message_from_its_timer(self):
        self.firmware.bring_up()
        self.aim_at_slot()
        # What the gateway is told is done later, by the timer.
        for index, word in enumerate(self.firmware.words(NOP, token=7, event=True)):
            self.function.write(GATEWAY_ADDRESS, HCR + 4 * index)
            self.function.write(GATEWAY_DATA, word)
        self.machine.step_clock(1000000)
        self.expect_gone_and_another_works()

    def test_while_commands_are_in_flight(self):
        self.machine.set("x-fault-command-latency", 1000000000)
        self.firmware.post(QUERY_FW, output=OUTPUT)
        self.port.write(self.control, POWER_OFF | INDICATOR_OFF, 2)
        self.expect_gone_and_another_works()

    def test_while_it_is_silent(self):
        self.machine.set("x-fault-command", "MAP_FA:silent")
        self.assertIsNone(self.firmware.map(MAP_FA, 0, 0x2000000, 10))
        self.machine.qmp("device_del", id="hca0")
        self.port.write(self.control, POWER_OFF | INDICATOR_OFF, 2)
        self.expect_gone_and_another_works()
