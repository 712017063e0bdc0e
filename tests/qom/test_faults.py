# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Faults on request: firmware that refuses or is silent, and the catastrophic error."""
import unittest

from firmware import EVENT, GO, MAP_FA, NOP, QUERY_FW, OUTPUT, RUN_FW, Firmware, swap
from machine import Machine, QemuRefused

ERROR_BUFFER, SOFT_RESET = 0x1F020, 0xF0010
MSIX_TABLE, MSIX_PENDING, VECTOR_CONTROL = 0x7C000, 0x7D000, 12
LOCAL_CATASTROPHE = 0x08


class Faults(unittest.TestCase):
    def start(self, properties=""):
        self.machine = Machine("-device", "mlx4,id=hca0" + properties).__enter__()
        self.addCleanup(self.machine.__exit__)
        self.function = self.machine.function()
        self.bar0, _ = self.function.enable()
        self.firmware = Firmware(self.machine, self.bar0)
        return self.firmware

    def reset(self):
        self.machine.write(self.bar0 + SOFT_RESET, swap(1))
        self.function.enable()

    def test_words_that_make_no_sense(self):
        for given, expected in (
            ("MAP_FA", "'stuck' or a status"),
            ("any:0", "from 1 to 255"),
            ("no:1", "MAP_FA"),
            ("any:1:0", "from 1 on"),
        ):
            with self.subTest(given):
                with self.assertRaises(QemuRefused) as refused:
                    with Machine("-device", "mlx4,x-fault-command=" + given):
                        pass
                self.assertIn(expected, str(refused.exception))
        self.start()
        with self.assertRaises(RuntimeError) as refused:
            self.machine.set("x-fault-command", "any:never")
        self.assertIn("x-fault-command=any:never", str(refused.exception))
        self.assertEqual("", self.machine.get("x-fault-command"))

    def test_a_status_for_the_second_of_a_command(self):
        firmware = self.start(",x-fault-command=QUERY_FW:0x0b:2")
        self.assertEqual("QUERY_FW:0x0b:2", self.machine.get("x-fault-command"))
        self.assertEqual(
            [0, 0x0B, 0], [firmware.command(QUERY_FW, output=OUTPUT) for _ in range(3)]
        )

    def test_a_status_for_all_of_a_command_until_it_is_taken_back(self):
        firmware = self.start()
        self.machine.set("x-fault-command", "MAP_FA:1")
        self.assertEqual([1, 1], [firmware.map(MAP_FA, 0, 0x2000000, 10) for _ in range(2)])
        self.assertEqual(0, firmware.command(QUERY_FW, output=OUTPUT))
        self.machine.set("x-fault-command", "")
        firmware.start()
        self.assertEqual(0, self.machine.get("counter-complaints"))

    def test_a_command_is_accepted_and_ends_after_the_times_asked_for(self):
        firmware = self.start()
        firmware.bring_up()
        self.machine.set("x-fault-command-acceptance", 2000)
        self.machine.set("x-fault-command-latency", 50000)
        firmware.post(NOP, token=7, event=True)
        self.machine.step_clock(1900)
        self.assertTrue(firmware.last_word() & GO)
        self.machine.step_clock(100)
        self.assertFalse(firmware.last_word() & GO)
        self.machine.step_clock(49900)
        self.assertIsNone(firmware.event(0))
        self.machine.step_clock(100)
        self.assertEqual(7, int.from_bytes(firmware.event(0)[6:8], "big"))

    def test_nobody_is_there_while_a_reset_goes_on(self):
        self.start(",x-fault-reset-latency=1000000")
        self.assertEqual(1000000, self.machine.get("x-fault-reset-latency"))
        identity = self.function.read(0)
        self.machine.write(self.bar0 + SOFT_RESET, swap(1))
        self.assertEqual(0xFFFFFFFF, self.function.read(0))
        # A driver that forgets to wait: what it writes goes nowhere.
        self.function.write(0x10, self.bar0)
        self.machine.step_clock(1000000)
        self.assertEqual(identity, self.function.read(0))
        self.assertEqual(
            0, self.function.read(0x10) & ~0xF, "what was written in the reset is there"
        )
        # One that waits comes up.
        self.function.enable()
        self.firmware.bring_up()
        self.machine.set("x-fault-reset-latency", 0)
        self.reset()
        self.firmware.bring_up()

    def test_no_more_commands_are_in_flight_than_the_firmware_takes(self):
        firmware = self.start(",max-commands=2")
        firmware.bring_up()
        self.assertEqual(0, firmware.command(QUERY_FW, output=OUTPUT))
        self.assertEqual(1, self.machine.read_bytes(OUTPUT + 0x0F, 1)[0])  # log2
        self.machine.set("x-fault-command-latency", 50000)
        for token in (1, 2):
            firmware.post(NOP, token=token, event=True)
            self.assertFalse(firmware.last_word() & GO)
        firmware.post(NOP, token=3, event=True)
        self.assertTrue(firmware.last_word() & GO)
        self.assertEqual(2, self.machine.get("counter-commands_in_flight"))
        self.machine.step_clock(50000)
        self.assertFalse(firmware.last_word() & GO)
        self.assertIsNone(firmware.event(2))
        self.machine.step_clock(50000)
        self.assertEqual(
            [1, 2, 3], [int.from_bytes(firmware.event(n)[6:8], "big") for n in range(3)]
        )
        self.assertEqual(0, self.machine.get("counter-complaints"))

    def test_silence_lasts_until_a_reset(self):
        firmware = self.start(",x-fault-command=RUN_FW:silent")
        self.assertEqual(0, firmware.map(MAP_FA, 0, 0x2000000, 10))
        self.assertIsNone(firmware.command(RUN_FW))
        self.machine.set("x-fault-command", "")
        self.assertIsNone(firmware.status())
        self.reset()
        firmware.start()
        self.assertEqual(0, self.machine.get("counter-complaints"))

    def test_what_was_held_is_run_and_answered_late(self):
        firmware = self.start(",x-fault-command=RUN_FW:silent")
        self.assertEqual(0, firmware.map(MAP_FA, 0, 0x2000000, 10))
        self.assertIsNone(firmware.command(RUN_FW))
        self.assertEqual(1, self.machine.get("x-fault-held-commands"))
        with self.assertRaises(RuntimeError) as refused:
            self.machine.set("x-fault-held-commands", 1)
        self.assertIn("only be set to 0", str(refused.exception))
        self.machine.set("x-fault-held-commands", 0)
        self.assertEqual(0, self.machine.get("x-fault-held-commands"))
        self.assertEqual(0, firmware.status())
        self.assertEqual(1, self.machine.get("counter-command_RUN_FW"))

    def test_events_are_lost_and_doubled(self):
        firmware = self.start()
        firmware.bring_up()
        for fault, entries in (("command:lost", 0), ("command:twice", 2), ("", 1)):
            with self.subTest(fault):
                self.machine.set("x-fault-event", fault)
                self.assertEqual(fault, self.machine.get("x-fault-event"))
                before = self.machine.get("counter-eqes")
                firmware.post(NOP, token=7, event=True)
                self.machine.step_clock(1000000)
                self.assertEqual(entries, self.machine.get("counter-eqes") - before)
        with self.assertRaises(RuntimeError) as refused:
            self.machine.set("x-fault-event", "completion:stuck")
        self.assertIn("'lost' or 'twice'", str(refused.exception))
        with self.assertRaises(QemuRefused) as refused:
            with Machine("-device", "mlx4,x-fault-event=sometimes:lost"):
                pass
        self.assertIn("an event is", str(refused.exception))

    def test_a_catastrophic_error_is_told_and_ends_everything_until_a_reset(self):
        firmware = self.start()
        firmware.bring_up()
        seen = 0x300000
        firmware.aim(self.function, seen, 0x1234)
        self.assertEqual(0, self.machine.read(self.bar0 + ERROR_BUFFER))
        self.assertFalse(self.machine.get("x-fault-catastrophic"))
        with self.assertRaises(RuntimeError):
            self.machine.set("x-fault-catastrophic", False)

        self.machine.set("x-fault-catastrophic", True)
        self.assertTrue(self.machine.get("x-fault-catastrophic"))
        self.assertEqual(0x0FFFFFFF, swap(self.machine.read(self.bar0 + ERROR_BUFFER)))
        self.assertEqual(LOCAL_CATASTROPHE, firmware.event(0)[1])
        self.assertEqual(0x1234, self.machine.read(seen))
        self.assertIsNone(firmware.command(QUERY_FW, output=OUTPUT))
        self.assertTrue(firmware.last_word() & GO)

        self.reset()
        self.assertFalse(self.machine.get("x-fault-catastrophic"))
        self.assertEqual(0, self.machine.read(self.bar0 + ERROR_BUFFER))
        again = Firmware(self.machine, self.bar0)
        again.bring_up()
        again.post(NOP, token=7, event=True)
        self.machine.step_clock(1000000)
        self.assertFalse(again.last_word() & GO)
        self.assertEqual(EVENT, again.last_word() & EVENT)
        self.assertEqual(7, int.from_bytes(again.event(0)[6:8], "big"))

    def test_a_card_that_is_pulled_is_all_ones_until_it_is_back(self):
        firmware = self.start()
        firmware.bring_up()
        commands = self.machine.get("counter-commands")
        vendor = self.function.read(0)
        bar = self.function.read(0x10)
        self.machine.set("x-fault-removed", True)
        self.assertTrue(self.machine.get("x-fault-removed"))
        self.assertEqual(0xFFFFFFFF, self.function.read(0))
        self.assertEqual(0xFFFFFFFF, self.machine.read(self.bar0 + ERROR_BUFFER))
        self.assertEqual(0xFFFFFFFF, self.machine.read(self.bar0 + SOFT_RESET))
        self.machine.write(self.bar0 + MSIX_TABLE, 0x12345678)
        for place in (MSIX_TABLE, MSIX_TABLE + VECTOR_CONTROL, MSIX_PENDING):
            self.assertEqual(0xFFFFFFFF, self.machine.read(self.bar0 + place), hex(place))
        firmware.post(NOP, token=7, event=True)
        self.function.write(0x10, 0)
        self.machine.step_clock(1000000000)
        self.assertEqual(commands, self.machine.get("counter-commands"))
        self.assertEqual(0, self.machine.get("counter-icm_pages"))

        self.machine.set("x-fault-removed", False)
        self.assertEqual(vendor, self.function.read(0))
        self.assertNotEqual(bar, self.function.read(0x10))
        self.bar0, _ = self.function.enable()
        self.assertEqual(
            [0, 1, 0],
            [
                self.machine.read(self.bar0 + place)
                for place in (MSIX_TABLE, MSIX_TABLE + VECTOR_CONTROL, MSIX_PENDING)
            ],
        )
        Firmware(self.machine, self.bar0).bring_up()

    def test_it_cannot_be_asked_for_before_the_machine_runs(self):
        with self.assertRaises(QemuRefused) as refused:
            with Machine("-device", "mlx4,x-fault-catastrophic=on"):
                pass
        self.assertIn("while the machine runs", str(refused.exception))
