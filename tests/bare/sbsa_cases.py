# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""QEMU's sbsa-ref, whose processor begins at the firmware's level and which has holes that raise
aborts: what docs/porting.md says of numbers that are wrong, and of the file that is loaded."""
import cases
import machines
import skeleton_cases

ARCHITECTURE = "aarch64-sbsa-ref"


class Wrong(cases.Cases):
    """One number of the board, or the way it is started."""

    def shows(self, *patterns, **constants):
        board = skeleton_cases.Board(ARCHITECTURE)
        board.set(**constants)
        run = self.boot("bringup", file=board.build("bringup"))
        self.assertFalse(run.passed)
        self.assertGreater(run.status, 0, "it had to be killed")
        self.said(*patterns)

    def test_the_elf_file_is_started_at_the_firmwares_level(self):
        self.kind = machines.Kind(ARCHITECTURE, "sbsa-ref", "-semihosting")
        self.boot_and_fail("starting the machine", "exception level 3", r"\.bin", quiet=False)

    def test_an_ecam_that_reads_as_all_ones_looks_empty(self):
        self.shows(
            "^FAILED +at looking for the adapter: there is no such adapter",
            ecam="{0xe000'0000, 0x1000'0000}",
        )

    def test_an_ecam_that_nobody_answers_for_is_an_exception_there(self):
        self.shows(
            "^EXCEPTION .* ESR_EL1 0x96000010, .* address 0x5100000c$",
            ecam="{0x5100'0000, 0x1000'0000}",
        )

    def test_bars_where_nothing_is_passed_on_are_an_exception_there(self):
        self.shows(
            "BAR 0 at 0x77800000",
            "^EXCEPTION .* address 0x7788069c$",
            cases.QUIET,
            bar_addresses="{0x6800'0000, 0x1000'0000}",
        )

    def test_more_memory_than_there_is_ends_where_the_tables_of_the_its_would_be(self):
        self.shows(
            "^EXCEPTION .* ESR_EL1 0x96000050, .* address 0x1003ff80000$",
            memory="{0x100'0000'0000, 0x4000'0000}",
        )
        self.assertNotIn("clock", [line.split(" ")[0] for line in self.last.lines])

    def test_redistributors_elsewhere(self):
        self.shows(
            "^EXCEPTION .* address 0x48000008$",
            gic="{.which = gic_registers::version::v3, .distributor = {0x4006'0000, 0x1'0000},"
            " .redistributors = {0x4800'0000, 0x400'0000}}",
        )


OF = {ARCHITECTURE: (Wrong,)}
