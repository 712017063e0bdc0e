#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""pair_test.py ARCHITECTURE=QEMU... [-- TEST...]: two machines of different architectures without
operating systems, on one InfiniBand cable. Records as bare_test.py does."""
import sys
import unittest

import cases
import pairs
import recorder

QEMUS = {}
SIZES = {"rc": (1, 1024, 65535), "ud": (1, 1024, 2048)}
COUNT = 100


class Pairs(unittest.TestCase):
    def end_in_failure(self, machine):
        machine.until("^remedy ")
        machine.until(cases.QUIET)
        machine.until(f"^{pairs.IMAGE}: failed$")
        machine.finish()
        self.assertFalse(machine.passed)
        self.assertGreater(machine.status, 0, "it had to be killed")
        self.assertEqual(machine.errors, "")

    def between(self, *architectures):
        """Each end takes its own LID, and is server and client in turn."""
        with pairs.Cable(QEMUS, *architectures) as ends:
            for machine in ends:
                machine.until("^ask ")
                machine.say(f"lid {machine.end}")
            for machine in ends:
                machine.until(f"^port +1, Active, LID {machine.end}, SM LID {machine.end}$")
            for server, client in (ends, ends[::-1]):
                for service, sizes in SIZES.items():
                    for size in sizes:
                        for line in pairs.play(server, client, service, size, COUNT):
                            print(f"  {client.kind.architecture} client: {line}")
            for machine in ends:
                machine.end_well()

    def test_x86_64_and_aarch64(self):
        self.between("x86_64", "aarch64")

    def test_aarch64_and_riscv64(self):
        self.between("aarch64", "riscv64")

    def test_riscv64_and_x86_64(self):
        self.between("riscv64", "x86_64")

    def test_lines_that_are_wrong_are_refused_by_name(self):
        with pairs.Cable(QEMUS, "x86_64", "aarch64") as ends:

            def refused(line, why):
                for machine in ends:
                    machine.until("^ask ")
                    machine.say(line)
                    machine.until(f"^REFUSED +{why}")

            refused("rd", "it is none of these$")
            refused("lid 49152", "it is none of these$")
            for machine in ends:
                machine.answer(f"lid {machine.end}")
            for machine in ends:
                machine.until("^port +1, Active")
                machine.address("rc")
            refused("client 1 1 0001:00004b:nothing", "its address has no PSN")
            refused("a" * 121, "the line is too long$")
            for machine in ends:
                machine.answer("client 1 1 0000:00004b:000000:" + 32 * "0")
            for machine in ends:
                machine.until("^FAILED +at reading a line: its address does not begin with a LID")
                self.end_in_failure(machine)

    def test_a_port_that_nobody_manages(self):
        with pairs.Cable(QEMUS, "x86_64") as (alone,):
            alone.answer("rc")
            alone.until("^REFUSED +the port is not active: start a subnet manager")
            alone.end_well()

    def test_sizes_that_differ_are_told(self):
        with pairs.Cable(QEMUS, "x86_64", "aarch64") as (server, client):
            for machine in (server, client):
                machine.answer(f"lid {machine.end}")
            to_server, to_client = server.address("rc"), client.address("rc")
            server.answer(f"server 64 1 {to_client}")
            server.until("^ready ")
            client.answer(f"client 63 1 {to_server}")
            server.until("^FAILED +at RC ping-pong: another length arrived")
            client.until("^FAILED +at RC ping-pong: ")
            for machine in (server, client):
                self.end_in_failure(machine)


def main():
    own, tests = sys.argv[1:], []
    if "--" in own:
        own, tests = own[: own.index("--")], own[own.index("--") + 1 :]
    QEMUS.update(word.split("=", 1) for word in own)
    if not QEMUS:
        sys.exit(__doc__)
    recorder.run(
        test
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(Pairs)
        if not tests or test.id().split(".")[-1] in tests
    )


if __name__ == "__main__":
    main()
