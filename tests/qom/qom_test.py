#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""qom_test.py QEMU [TEST...]: the QEMU device as a PCI function, seen by a guest that is this program."""
import sys
import unittest

import machine


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    machine.BINARY = sys.argv[1]
    names = sys.argv[2:] or ["test_properties", "test_identity", "test_vpd", "test_reset", "test_registers",
                             "test_hotplug"]
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromNames(names))
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
