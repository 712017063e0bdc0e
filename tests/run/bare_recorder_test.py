#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The results of bare-metal tests: a failed test names a log that has its cause."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import summary

BARE = pathlib.Path(__file__).resolve().parents[1] / "bare"
PROGRAM = """
import unittest
import recorder

class machine(unittest.TestCase):
    def test_good(self):
        pass
    def test_bad(self):
        self.fail("the line that was not printed")

recorder.run(unittest.defaultTestLoader.loadTestsFromTestCase(machine))
"""


class BareRecorder(unittest.TestCase):
    def test_a_failed_test_names_a_log_with_its_cause(self):
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run(
                [sys.executable, "-B", "-c", PROGRAM],
                env={**os.environ, "PYTHONPATH": str(BARE), "FREEHCA_RESULTS": folder},
                stdout=subprocess.DEVNULL,
                check=False,
            )
            self.assertEqual(ended.returncode, 0)
            rows = summary.rows(f"{folder}/own.tsv")
            of = {name: (outcome, note) for outcome, _, name, note in rows}
            self.assertEqual(of["bare: machine test_good"], ("passed", ""))
            outcome, note = of["bare: machine test_bad"]
            self.assertEqual(outcome, "failed")
            self.assertIn("the line that was not printed", "\n".join(summary.end_of_log(note)))


if __name__ == "__main__":
    unittest.main()
