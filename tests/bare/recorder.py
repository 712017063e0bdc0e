# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Runs tests, and records their results in the folder FREEHCA_RESULTS, if that is set."""
import os
import pathlib
import sys
import time
import unittest


class Recorder(unittest.TextTestResult):
    """Also writes one line per test, as tests/run/results.sh does."""

    def startTest(self, test):
        self.began, self.bad_before = time.monotonic(), self.bad()
        super().startTest(test)

    def bad(self):
        return len(self.failures) + len(self.errors)

    def stopTest(self, test):
        super().stopTest(test)
        if "FREEHCA_RESULTS" not in os.environ:
            return
        folder = pathlib.Path(os.environ["FREEHCA_RESULTS"])
        names = test.id().split(".")[-2:]
        outcome, note = "passed", ""
        if self.bad() > self.bad_before:
            log = folder / f"bare-{'-'.join(names)}.log"
            log.write_text(
                "\n".join(text for of, text in self.failures + self.errors if of is test),
                encoding="utf-8",
            )
            outcome, note = "failed", f"(see {log})"
        with open(folder / "own.tsv", "a", encoding="utf-8") as file:
            seconds = time.monotonic() - self.began
            file.write(f"{outcome}\t{seconds:.0f}\tbare: {' '.join(names)}\t{note}\n")


def run(tests):
    """Ends the program. With FREEHCA_RESULTS its status does not tell of failed tests."""
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Recorder)
    result = runner.run(unittest.TestSuite(tests))
    sys.exit("FREEHCA_RESULTS" not in os.environ and not result.wasSuccessful())
