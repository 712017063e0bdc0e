# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What the adapter says of its own doings: explanations through QMP, trace events, strictness."""
import tempfile
import unittest

from firmware import EQN, NOP, QUERY_FW, Firmware
from machine import Machine, QemuRefused

BAD_PARAMETER, BAD_SYSTEM_STATE, OUTPUT = 0x03, 0x04, 0x201000


class Remarks(unittest.TestCase):
    def machine(self, *arguments):
        machine = Machine(*arguments).__enter__()
        self.addCleanup(machine.__exit__)
        return machine

    def test_a_refused_command_and_a_complaint_are_explained(self):
        machine = self.machine("-device", "mlx4,id=hca0")
        bar0, _ = machine.function().enable()
        self.assertEqual([], machine.get("explanations"))
        self.assertEqual(BAD_SYSTEM_STATE, Firmware(machine, bar0).command(NOP))
        machine.write(bar0 + 0x4, 1)
        refused, complaint = machine.get("explanations")
        for part in (
            "1 ",
            " refused: NOP modifier 0x0",
            "bad system state",
            "comes after RUN_FW",
            "rule system-state",
        ):
            self.assertIn(part, refused)
        for part in (
            "2 ",
            " complaint: ",
            "at 0x4 of BAR0",
            "rule register-place",
            "no source: chosen",
        ):
            self.assertIn(part, complaint)

    def test_only_the_last_hundred_are_kept(self):
        machine = self.machine("-device", "mlx4,id=hca0")
        bar0, _ = machine.function().enable()
        for _ in range(105):
            machine.write(bar0 + 0x4, 1)
        kept = machine.get("explanations")
        self.assertEqual(100, len(kept))
        self.assertEqual(("6", "105"), (kept[0].split()[0], kept[-1].split()[0]))
        self.assertEqual(105, machine.get("counter-complaints"))

    def test_trace_events_can_be_switched_on_while_it_runs(self):
        with tempfile.NamedTemporaryFile() as log:
            with Machine(
                "-device", "mlx4,id=hca0", "-trace", "mlx4_refused", "-D", log.name
            ) as machine:
                bar0, _ = machine.function().enable()
                firmware = Firmware(machine, bar0)
                self.assertEqual(0, firmware.command(QUERY_FW, output=OUTPUT))
                self.assertEqual(BAD_SYSTEM_STATE, firmware.command(NOP))
                machine.qmp("trace-event-set-state", name="mlx4_command", enable=True)
                self.assertEqual(0, firmware.command(QUERY_FW, output=OUTPUT))
            with open(log.name, encoding="utf-8") as file:
                lines = file.read().splitlines()
        self.assertEqual(2, len(lines), lines)
        self.assertIn("mlx4_refused", lines[0])
        self.assertIn("hca0: NOP", lines[0])
        self.assertIn("hca0: QUERY_FW", lines[1])

    def test_an_object_is_dumped_with_the_names_of_its_fields(self):
        machine = self.machine("-device", "mlx4,id=hca0")
        bar0, _ = machine.function().enable()
        with self.assertRaisesRegex(RuntimeError, "KIND:NUMBER"):
            machine.get("dump")
        machine.set("dump", f"eq:{EQN}")
        with self.assertRaisesRegex(RuntimeError, "before INIT_HCA"):
            machine.get("dump")
        Firmware(machine, bar0).bring_up()
        dump = dict(line.split(": ") for line in machine.get("dump").splitlines())
        self.assertEqual("0x0", dump.get("status", "0x0"))
        self.assertIn("log_eq_size", dump)
        self.assertIn("mtt_base_addr", dump)
        for wrong, why in (
            ("eq:0x10000", "2\\^"),
            ("wheel:1", "the kinds are"),
            ("qp", "KIND:NUMBER"),
            ("qp:0x", "KIND:NUMBER"),
            ("qp:1x", "KIND:NUMBER"),
        ):
            machine.set("dump", wrong)
            with self.assertRaisesRegex(RuntimeError, why):
                machine.get("dump")

    def test_rules_are_switched_off_by_name(self):
        machine = self.machine("-device", "mlx4,id=hca0,x-rules-off=register-place")
        bar0, _ = machine.function().enable()
        machine.write(bar0 + 0x4, 1)
        self.assertEqual(0, machine.get("counter-complaints"))
        with self.assertRaisesRegex(RuntimeError, "'wheels' is no list of rules.*system-state"):
            machine.set("x-rules-off", "wheels")
        self.assertEqual("register-place", machine.get("x-rules-off"))
        machine.set("x-rules-off", "")
        machine.write(bar0 + 0x4, 1)
        self.assertEqual(1, machine.get("counter-complaints"))
        with self.assertRaisesRegex(QemuRefused, "x-rules-off"):
            Machine("-device", "mlx4,x-rules-off=wheels").__enter__()

    def test_strictness_may_change_while_it_runs(self):
        machine = self.machine("-device", "mlx4,id=hca0,strict=on")
        bar0, _ = machine.function().enable()
        firmware = Firmware(machine, bar0)
        self.assertEqual(BAD_PARAMETER, firmware.command(QUERY_FW, output=OUTPUT + 8))
        self.assertEqual(0, machine.get("counter-complaints"))
        machine.set("strict", False)
        self.assertEqual(0, firmware.command(QUERY_FW, output=OUTPUT + 8))
        self.assertEqual(1, machine.get("counter-complaints"))
        self.assertIn("rule mailbox-alignment", machine.get("explanations")[-1])


if __name__ == "__main__":
    unittest.main()
