# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What the resets return to power-on values: the card's own (a register), function-level, and of
the machine."""
import unittest

from machine import Machine

DEVCTL, LNKCTL, MSIX = 0x68, 0x70, 0x9E
SOFT_RESET = 0xF0010
GATEWAY = (0x58, 0x5C)


def snapshot(function):
    """The first 256 bytes, but for the gateway, whose data register is a window."""
    return {at: function.read(at) for at in range(0, 256, 4) if at not in GATEWAY}


def disturb(machine, function):
    bar0, _ = function.enable()
    function.write(0x0C, 0x10, 1)
    function.write(0x3C, 11, 1)
    function.write(DEVCTL, 0x583F, 2)
    function.write(LNKCTL, 0x40, 2)
    function.write(0x88, 0x6, 2)
    function.write(MSIX, 0x8000, 2)
    function.write(0x4A, 16, 2)
    machine.write(bar0 + 0x7C000, 0xFEE00000)
    machine.write(bar0 + 0x7C00C, 0)
    return bar0


class Resets(unittest.TestCase):
    def test_soft_reset_wipes_configuration_space(self):
        with Machine("-device", "mlx4,id=hca0") as machine:
            function = machine.function().open_window()
            power_on = snapshot(function)
            bar0 = disturb(machine, function)
            function.write_extended(0x160, 0, 4)
            self.assertNotEqual(power_on, snapshot(function))
            machine.write(bar0 + SOFT_RESET, 0x01000000)
            self.assertEqual(power_on, snapshot(function))
            self.assertEqual(0x00062010, function.extended(0x160))
            # Linux restores the header, the device control and at last the command register.
            function.enable(bar0)
            self.assertEqual(0, machine.read(bar0 + 0x7C000))
            self.assertEqual(1, machine.read(bar0 + 0x7C00C))
            self.assertEqual(0, machine.get("counter-complaints"))

    def test_another_value_does_not_reset(self):
        with Machine("-device", "mlx4,id=hca0") as machine:
            function = machine.function()
            bar0 = disturb(machine, function)
            before = snapshot(function)
            machine.write(bar0 + SOFT_RESET, 0)
            self.assertEqual(before, snapshot(function))

    def test_function_level_reset_keeps_payload_and_link_settings(self):
        with Machine("-device", "mlx4,id=hca0") as machine:
            function = machine.function()
            power_on = snapshot(function)
            disturb(machine, function)
            function.write(DEVCTL, 0x5820 | 0x8000, 2)
            after = snapshot(function)
            self.assertEqual(0x2020, after.pop(DEVCTL) & 0xFFFF)
            self.assertEqual(0x40, after.pop(LNKCTL) & 0xFFFF)
            del power_on[DEVCTL], power_on[LNKCTL]
            self.assertEqual(power_on, after)

    def test_without_the_capability_there_is_no_function_level_reset(self):
        with Machine("-device", "mlx4,id=hca0,flr=off") as machine:
            function = machine.function()
            bar0 = disturb(machine, function)
            function.write(DEVCTL, 0x8000, 2)
            self.assertEqual(bar0 | 4, function.read(0x10))
            self.assertEqual(0, function.read(DEVCTL, 2) & 0x8000)

    def test_machine_reset(self):
        with Machine("-device", "mlx4,id=hca0") as machine:
            function = machine.function()
            power_on = snapshot(function)
            disturb(machine, function)
            machine.qmp("system_reset")
            machine.wait_event("RESET")
            self.assertEqual(power_on, snapshot(function))

    def test_sleep_keeps_a_connectx3_and_resets_a_connectx2(self):
        for variant, kept in (("connectx3", True), ("connectx2", False)):
            with self.subTest(variant), Machine(
                "-device", f"mlx4,id=hca0,variant={variant}"
            ) as machine:
                function = machine.function()
                bar0 = disturb(machine, function)
                function.write(0x44, 3, 2)
                self.assertEqual(3, function.read(0x44, 2) & 3)
                self.assertEqual(0xFFFFFFFF, machine.read(bar0 + 0xF0014))
                function.write(0x44, 0, 2)
                self.assertEqual(kept, function.read(0x10) == bar0 | 4)

    def test_states_that_are_not_there_change_nothing(self):
        with Machine("-device", "mlx4,id=hca0") as machine:
            function = machine.function()
            function.write(0x44, 1, 2)
            self.assertEqual(0, function.read(0x44, 2) & 3)
