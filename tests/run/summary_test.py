#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What the summary makes of each kind of end that a run of ctest can have."""
import os
import subprocess
import sys
import tempfile
import unittest

SUMMARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "summary.py")
PASSED = '<testcase name="good" status="run"/>'
FAILED = '<testcase name="bad" status="fail"><failure message="Failed"/></testcase>'


def not_run(message):
    return f'<testcase name="absent" status="notrun"><skipped message="{message}"/></testcase>'


class Summary(unittest.TestCase):
    def run_summary(self, *, cases=None, status=0, own="", skips=""):
        with tempfile.TemporaryDirectory() as folder:

            def write(name, text):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)

            write("own.tsv", own)
            write("stages.tsv", "")
            write("host.status", f"{status}\n")
            if cases is not None:
                write("host.xml", f"<testsuite>{''.join(cases)}</testsuite>")
            write("skips.txt", skips)
            return subprocess.run(
                [sys.executable, "-B", SUMMARY, folder, os.path.join(folder, "skips.txt")],
                capture_output=True,
                text=True,
                check=False,
            )

    def summarise(self, **results):
        """The summary's last line and exit status; no cases: ctest left no report."""
        run = self.run_summary(**results)
        return run.stdout.splitlines()[-1], run.returncode

    def test_passed(self):
        self.assertEqual(self.summarise(cases=[PASSED]), ("1 passed, 0 failed, 0 skipped", 0))

    def test_failed(self):
        self.assertEqual(
            self.summarise(cases=[PASSED, FAILED], status=8), ("1 passed, 1 failed, 0 skipped", 1)
        )

    def test_the_end_of_a_failed_test_s_log_is_shown(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write("".join(f"line {number}\n" for number in range(40)))
            log.flush()
            note = f"(status 124, see {log.name})"
            shown = self.run_summary(cases=[PASSED], own=f"failed\t9\tguest: bad\t{note}\n").stdout
            passed = self.run_summary(
                cases=[PASSED], own=f"passed\t9\tguest: good\t{note}\n"
            ).stdout
        self.assertIn("the end of the log of guest: bad:\n    line 10\n    line 11\n", shown)
        self.assertIn("    line 39\n", shown)
        # What failed is named behind the logs, next to the count.
        self.assertTrue(
            shown.endswith(f"FAILED: guest: bad: {note}\n1 passed, 1 failed, 0 skipped\n")
        )
        self.assertNotIn("line 39", passed)

    def test_a_log_that_is_gone(self):
        run = self.run_summary(
            cases=[PASSED], own="failed\t9\tgone\t(status 1, see /absent/x.log)\n"
        )
        self.assertIn("its log cannot be read", run.stdout)

    def test_a_program_of_several_tests(self):
        def program(output, status="run"):
            said = f"<system-out>{output}</system-out>"
            return f'<testcase name="suite" status="{status}">{said}</testcase>'

        ran = "[==========] 3 tests from 1 test suite ran. (5 ms total)\n"
        for output, status, last in (
            (ran + "[  PASSED  ] 3 tests.\n", "run", "3 passed, 0 failed, 0 skipped"),
            (ran + "[  PASSED  ] 1 test.\n", "run", "1 passed, 0 failed, 0 skipped"),
            (ran + "[  PASSED  ] 0 tests.\n", "run", "0 passed, 1 failed, 0 skipped"),
            (ran + "[  FAILED  ] suite.b (3 ms)\n", "fail", "0 passed, 1 failed, 0 skipped"),
            # One that skips itself is not on the list; a brief program does not name it.
            (
                ran + "[  PASSED  ] 2 tests.\n[  SKIPPED ] 1 test, listed below:\n"
                "[  SKIPPED ] suite.c\n",
                "run",
                "2 passed, 1 failed, 0 skipped",
            ),
            (
                ran + "[  PASSED  ] 1 test.\n[  SKIPPED ] 2 tests.\n",
                "run",
                "1 passed, 2 failed, 0 skipped",
            ),
        ):
            with self.subTest(last):
                self.assertEqual(self.summarise(cases=[program(output, status)])[0], last)

    def test_a_skipped_test_on_the_list(self):
        case = not_run("SKIP_RETURN_CODE=77")
        self.assertEqual(
            self.summarise(
                cases=[PASSED, case], skips="# why not\n\nhost: abs*  there is no card here\n"
            ),
            ("1 passed, 0 failed, 1 skipped", 0),
        )

    def test_a_skipped_test_that_is_not_on_the_list_has_failed(self):
        # As ctest words what a return code, GTEST_SKIP() and a property say.
        for message in ("SKIP_RETURN_CODE=77", "SKIP_REGULAR_EXPRESSION_MATCHED", "Disabled"):
            with self.subTest(message):
                run = self.run_summary(
                    cases=[PASSED, not_run(message)], skips="host: other  for a reason\n"
                )
                self.assertIn(
                    f"FAILED: host: absent: skipped ({message}), and not in tests/run/skips.txt",
                    run.stdout,
                )
                self.assertEqual(
                    (run.stdout.splitlines()[-1], run.returncode),
                    ("1 passed, 1 failed, 0 skipped", 1),
                )

    def test_a_list_without_a_reason_is_an_error(self):
        run = self.run_summary(cases=[PASSED], skips="host: absent\n")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("skips.txt:1: 'host: absent' has no reason", run.stderr)

    def test_the_list_of_this_tree_can_be_read(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("own.tsv", "passed\t1\ta\t\n"), ("stages.tsv", "")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            run = subprocess.run(
                [sys.executable, "-B", SUMMARY, folder], capture_output=True, text=True, check=False
            )
        self.assertEqual(
            (run.stdout.splitlines()[-1], run.returncode), ("1 passed, 0 failed, 0 skipped", 0)
        )

    def test_a_program_that_is_missing_has_failed(self):
        case = not_run("Unable to find executable: /nowhere")
        self.assertEqual(
            self.summarise(cases=[PASSED, case], status=8), ("1 passed, 1 failed, 0 skipped", 1)
        )

    def test_ctest_that_fails_without_a_failed_test(self):
        self.assertEqual(
            self.summarise(cases=[PASSED], status=1), ("1 passed, 1 failed, 0 skipped", 1)
        )

    def test_ctest_that_leaves_no_report(self):
        self.assertEqual(self.summarise(status=1), ("0 passed, 1 failed, 0 skipped", 1))

    def test_own_tests_count_too(self):
        own = "passed\t1\ta\t\nskipped\t0\tb\tno reason\nfailed\t2\tc\twhy\n"
        self.assertEqual(
            self.summarise(cases=[PASSED], own=own, skips="b  for a reason\n"),
            ("2 passed, 1 failed, 1 skipped", 1),
        )

    def test_the_seconds_of_each_stage_are_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (
                ("own.tsv", "passed\t1\ta\t\n"),
                ("stages.tsv", "15\tlint\t27\t29\n200\tguest\t42\t310\n"),
            ):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            run = subprocess.run(
                [sys.executable, "-B", SUMMARY, folder], capture_output=True, text=True, check=False
            )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"(?m)^ +15 +29 +27  lint$")
        self.assertRegex(run.stdout, r"(?m)^ +200 +310 +42  guest$")

    def test_nothing_ran(self):
        self.assertEqual(self.summarise(cases=[]), ("0 passed, 1 failed, 0 skipped", 1))


if __name__ == "__main__":
    unittest.main()
