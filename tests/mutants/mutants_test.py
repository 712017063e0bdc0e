#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The table of mutants fits the tree, and mutants.py says what came of them."""
import unittest

import mutants
from table import MUTANTS, Mutant


class Table(unittest.TestCase):
    def test_each_row_fits_the_tree(self):
        self.assertEqual([], mutants.check_table())

    def test_a_row_that_does_not_fit_is_named(self):
        def complaint(**changed):
            return mutants.check_table([MUTANTS[0]._replace(**changed)])

        for changed, says in (
            ({"pattern": "no such text"}, "C1: its pattern is 0 times in firmware_cmds"),
            ({"pattern": "const"}, "C1: its pattern is "),
            ({"file": "no/such/file.cpp"}, "C1: its pattern is 0 times in no/such/file.cpp"),
            ({"replacement": MUTANTS[0].pattern}, "C1: it changes nothing"),
        ):
            wrong = complaint(**changed)
            self.assertEqual(1, len(wrong), changed)
            self.assertTrue(wrong[0].startswith(says), wrong)
        twice = mutants.check_table([MUTANTS[0], MUTANTS[0]])
        self.assertEqual(["C1: two rows have this name"], twice)


class Drawing(unittest.TestCase):
    def test_a_seed_draws_the_same_mutants_each_time(self):
        self.assertEqual(mutants.draw(2, 5), mutants.draw(2, 5))
        self.assertGreater(len({mutants.draw(2, seed)[0].name for seed in range(20)}), 5)

    def test_those_that_live_or_are_slow_are_not_drawn(self):
        changed = [MUTANTS[0]._replace(lives=True), MUTANTS[1]._replace(slow=True), *MUTANTS[2:]]
        drawn = mutants.draw(len(MUTANTS), 1, changed)
        names = {row.name for row in changed if not row.lives and not row.slow}
        self.assertEqual(len(MUTANTS) - 2, len(names))
        self.assertEqual(names, {row.name for row in drawn})


class Judging(unittest.TestCase):
    dies = Mutant("A", "file", "pattern", "replacement", "breaks something")
    lives = dies._replace(name="B", lives=True)

    def test_the_table_marks_what_is_not_expected(self):
        for mutant, verdict, expected in (
            (self.dies, "killed", True),
            (self.dies, "lives", False),
            (self.dies, "error", False),
            (self.lives, "lives", True),
            (self.lives, "killed", False),
            (self.lives, "error", False),
        ):
            result = mutants.Result(mutant, verdict, "suite", 1.0)
            self.assertEqual(expected, result.is_expected())
            self.assertEqual(expected, "NOT EXPECTED" not in mutants.table([result]))

    def test_the_test_that_failed_is_named(self):
        words = mutants.Tests.words_of
        self.assertEqual("suite.test", words("[  FAILED  ] suite.test, where...\n1 FAILED", 1))
        self.assertEqual("driver.x", words(" 3/9 Test  #7: driver.x ......***Failed 0.1 sec\n", 8))
        self.assertEqual("ended by SIGSEGV", words("nothing", -11))
        self.assertEqual("the last line", words("first\nthe last line\n\n", 1))
        self.assertEqual("status 3", words("", 3))


class Running(unittest.TestCase):
    """Suites that are commands."""

    class Suites(mutants.Tests):
        def __init__(self, *commands):
            super().__init__(open("/dev/null", "w", encoding="utf-8"))
            self.all = [(["/bin/sh", "-c", command], None) for command in commands]

        def commands(self, suite):
            return self.all

    def outcome(self, *commands, timeout=None):
        suites = self.Suites(*commands)
        self.addCleanup(suites.log.close)
        here = mutants.Suite("here", "", "")
        folder, mutants.Suite.folder = mutants.Suite.folder, lambda self: "/"
        try:
            return suites.execute(here, timeout)
        finally:
            mutants.Suite.folder = folder

    def test_all_must_pass(self):
        self.assertFalse(self.outcome("true", "true").failed)
        self.assertTrue(self.outcome("true", "echo no; false").failed)
        self.assertEqual("no", self.outcome("true", "echo no; false").how)

    def test_the_first_failure_ends_the_others(self):
        outcome = self.outcome("sleep 60", "echo no; false")
        self.assertEqual("no", outcome.how)
        self.assertLess(outcome.seconds, 30)

    def test_a_hang_is_a_failure_and_is_named(self):
        outcome = self.outcome("sleep 60", timeout=0.2)
        self.assertTrue(outcome.failed)
        self.assertEqual("a hang: 0 s are over", outcome.how)


if __name__ == "__main__":
    unittest.main()
