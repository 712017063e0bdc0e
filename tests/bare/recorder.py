# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Runs tests, and tells of them where FREEHCA_RESULTS is set."""
import os
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
        outcome = "failed" if self.bad() > self.bad_before else "passed"
        note = "(see the log of bare)" if outcome == "failed" else ""
        with open(
            os.path.join(os.environ["FREEHCA_RESULTS"], "own.tsv"), "a", encoding="utf-8"
        ) as file:
            name = " ".join(test.id().split(".")[-2:])
            file.write(f"{outcome}\t{time.monotonic() - self.began:.0f}\tbare: {name}\t{note}\n")


def run(tests):
    """Ends the program. With FREEHCA_RESULTS its status does not tell of failed tests."""
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Recorder)
    result = runner.run(unittest.TestSuite(tests))
    sys.exit("FREEHCA_RESULTS" not in os.environ and not result.wasSuccessful())
