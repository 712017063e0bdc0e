#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""qom_test.py [--sanitized] QEMU [TEST...]: the QEMU device as a PCI function, seen by a guest that is
this program. --sanitized: in a QEMU whose device has sanitizers. Left out then are the tests of the
guard against other QEMUs, which link objects of their own, and iPXE, which takes minutes.

With FREEHCA_RESULTS set, each test adds its line to own.tsv there, and the exit status no longer
tells of failed tests.
"""
import os
import signal
import sys
import time
import unittest

import machine

NAMES = [
    "test_properties",
    "test_identity",
    "test_vpd",
    "test_rom",
    "test_reset",
    "test_registers",
    "test_hotplug",
    "test_iommu",
    "test_hostile",
    "test_faults",
    "test_unplug",
    "test_links",
    "test_captures",
    "test_recordings",
    "test_ipxe",
    "test_ipxe_ethernet",
    "test_remarks",
    "test_saved_state",
    "test_debugging",
    "test_device_server",
    "test_glue",
    "test_guard",
]


NOT_SANITIZED = {"test_guard", "test_ipxe", "test_ipxe_ethernet"}

# A test that takes so long hangs.
TEST_SECONDS = 300


def ring(*_):
    raise TimeoutError(f"not done after {TEST_SECONDS} s")


class Recorder(unittest.TextTestResult):
    """Also writes one line per test, as tests/run/results.sh does."""

    suite = "qom"

    def startTest(self, test):
        signal.alarm(TEST_SECONDS)
        self.began, self.bad_before, self.skipped_before = (
            time.monotonic(),
            self.bad(),
            len(self.skipped),
        )
        super().startTest(test)

    def bad(self):
        return len(self.failures) + len(self.errors)

    def stopTest(self, test):
        super().stopTest(test)
        signal.alarm(0)
        if "FREEHCA_RESULTS" not in os.environ:
            return
        if self.bad() > self.bad_before:
            outcome, note = "failed", f"(see {self.suite.replace(' ', '-')}.log)"
        elif len(self.skipped) > self.skipped_before:
            outcome, note = "skipped", self.skipped[-1][1]
        else:
            outcome, note = "passed", ""
        with open(
            os.path.join(os.environ["FREEHCA_RESULTS"], "own.tsv"), "a", encoding="utf-8"
        ) as file:
            name = test.id().split(".")[-1]
            file.write(
                f"{outcome}\t{time.monotonic() - self.began:.0f}\t{self.suite}: {name}\t{note}\n"
            )


def main():
    words, names = sys.argv[1:], NAMES
    if words[:1] == ["--sanitized"]:
        words, names = words[1:], [name for name in NAMES if name not in NOT_SANITIZED]
        Recorder.suite = "qom sanitized"
    if not words:
        sys.exit(__doc__)
    machine.BINARY = words[0]
    signal.signal(signal.SIGALRM, ring)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Recorder).run(
        unittest.defaultTestLoader.loadTestsFromNames(words[1:] or names)
    )
    sys.exit("FREEHCA_RESULTS" not in os.environ and not result.wasSuccessful())


if __name__ == "__main__":
    main()
