#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""bare_test.py ARCHITECTURE QEMU [TEST...]: boots the images of an architecture and reads their
serial line.

With FREEHCA_RESULTS set, each test adds its line to own.tsv there, and the exit status no longer
tells of failed tests.
"""
import os
import sys
import time
import unittest

import cases
import machines
import tree_cases
import x86_cases

# What is tried on some architectures alone.
OWN = {**x86_cases.OF, **tree_cases.OF}


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


def classes(architecture, qemu):
    """One for each machine; failures are tried on the first."""
    for number, (name, kind) in enumerate(machines.MACHINES[architecture].items()):
        bases = (cases.Passing,)
        if number == 0:
            bases = (cases.Passing, cases.Failing, *OWN.get(architecture, ()))
        yield type(
            f"{architecture}_{name}", (*bases, unittest.TestCase), {"kind": kind, "qemu": qemu}
        )


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in machines.MACHINES:
        sys.exit(__doc__)
    suite = unittest.TestSuite()
    for made in classes(*sys.argv[1:3]):
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(made):
            if len(sys.argv) == 3 or test.id().split(".")[-1] in sys.argv[3:]:
                suite.addTest(test)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Recorder).run(
        suite
    )
    sys.exit("FREEHCA_RESULTS" not in os.environ and not result.wasSuccessful())


if __name__ == "__main__":
    main()
