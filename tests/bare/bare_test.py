#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""bare_test.py ARCHITECTURE QEMU [TEST...]: boots the images of an architecture, or of a board that
is known by constants, and reads their serial line.

With FREEHCA_RESULTS set, each test adds its line to own.tsv there, and the exit status no longer
tells of failed tests.
"""
import sys
import unittest

import cases
import machines
import recorder
import sbsa_cases
import skeleton_cases
import tree_cases
import web_cases
import x86_cases

# What is tried on some architectures alone.
OWN = {**x86_cases.OF, **tree_cases.OF, **sbsa_cases.OF}


def classes(architecture, qemu):
    """One for each machine; failures are tried on the first of an architecture. The images of a
    board take no words and no tree, and the skeleton of one passes nothing."""
    for number, (name, kind) in enumerate(machines.MACHINES[architecture].items()):
        bases = (cases.Passing, web_cases.Serving)
        if architecture in skeleton_cases.OF:
            bases = skeleton_cases.OF[architecture]
        elif number == 0:
            more = (cases.Failing, web_cases.Unusual)
            if "-" in architecture:
                more = (web_cases.Serving,)
            bases = (cases.Passing, *more, *OWN.get(architecture, ()))
        yield type(
            f"{architecture}_{name}", (*bases, unittest.TestCase), {"kind": kind, "qemu": qemu}
        )


def main():
    if len(sys.argv) == 3 and "-" in sys.argv[1] and sys.argv[1] not in machines.MACHINES:
        print(
            f"{sys.argv[1]}: no machine is named for this board; its images are built, not booted"
        )
        return
    if len(sys.argv) < 3 or sys.argv[1] not in machines.MACHINES:
        sys.exit(__doc__)
    suite = unittest.TestSuite()
    for made in classes(*sys.argv[1:3]):
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(made):
            if len(sys.argv) == 3 or test.id().split(".")[-1] in sys.argv[3:]:
                suite.addTest(test)
    recorder.run(suite)


if __name__ == "__main__":
    main()
