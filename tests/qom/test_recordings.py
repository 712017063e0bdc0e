# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""x-record= and x-record-label= (docs/recording.md)."""
import json
import os
import tempfile
import unittest

from machine import Machine, QemuRefused
from test_links import Adapter


class Recordings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="freehca-recordings-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "one.jsonl")

    def lines(self):
        with open(self.path, encoding="ascii") as file:
            return [json.loads(line) for line in file]

    def test_a_file_that_cannot_be_is_refused_at_start(self):
        for given, expected in (
            (f"x-record={self.path}/no/such", "No such file"),
            ("x-record=/", "directory"),
            ("x-record=/dev/full", "No space left"),
            ("x-record-label=lost", "x-record-label= needs x-record="),
        ):
            with self.subTest(given):
                with self.assertRaises(QemuRefused) as refused:
                    with Machine("-device", "mlx4," + given):
                        pass
                self.assertIn(expected, str(refused.exception))

    def test_header_and_commands_are_there_with_their_answers(self):
        with Machine(
            "-device",
            f"mlx4,id=hca0,variant=connectx3,ports=1,x-record={self.path}," "x-record-label=a test",
        ) as machine:
            Adapter(machine).open()
            machine.qmp("quit")
            machine.process.wait()
        header, *records, last = self.lines()
        self.assertEqual(
            (1, "connectx3", 1, "a test"),
            tuple(header[key] for key in ("freehca_recording", "variant", "ports", "label")),
        )
        self.assertEqual({"end": len(records)}, last)
        accepted = [record["command"] for record in records if "command" in record]
        self.assertIn("INIT_PORT", accepted)
        self.assertEqual(accepted, [record["answer"] for record in records if "answer" in record])
        self.assertIn("0x0", {record["status"] for record in records if "status" in record})

    def test_it_is_whole_up_to_a_kill(self):
        with Machine("-device", f"mlx4,id=hca0,x-record={self.path}") as machine:
            Adapter(machine).open()
            # What has not been written yet is lost: whoever reads this waits for it.
            machine.get("capture-errors")
            machine.process.kill()
            machine.process.wait()
        killed = self.lines()
        self.assertNotIn("end", killed[-1])
        self.assertIn("INIT_PORT", [line.get("answer") for line in killed])


if __name__ == "__main__":
    unittest.main()
