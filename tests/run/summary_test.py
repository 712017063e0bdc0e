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
    def summarise(self, *, cases=None, status=0, own=""):
        """The summary's last line and exit status; cases None: ctest left no report."""
        with tempfile.TemporaryDirectory() as folder:
            def write(name, text):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            write("own.tsv", own)
            write("stages.tsv", "")
            write("host.status", f"{status}\n")
            if cases is not None:
                write("host.xml", f"<testsuite>{''.join(cases)}</testsuite>")
            run = subprocess.run([sys.executable, "-B", SUMMARY, folder], capture_output=True, text=True, check=False)
            return run.stdout.splitlines()[-1], run.returncode

    def test_passed(self):
        self.assertEqual(self.summarise(cases=[PASSED]), ("1 passed, 0 failed, 0 skipped", 0))

    def test_failed(self):
        self.assertEqual(self.summarise(cases=[PASSED, FAILED], status=8), ("1 passed, 1 failed, 0 skipped", 1))

    def test_a_test_that_asks_to_be_skipped(self):
        case = not_run("SKIP_RETURN_CODE=77")
        self.assertEqual(self.summarise(cases=[PASSED, case]), ("1 passed, 0 failed, 1 skipped", 0))

    def test_a_program_that_is_missing_has_failed(self):
        case = not_run("Unable to find executable: /nowhere")
        self.assertEqual(self.summarise(cases=[PASSED, case], status=8), ("1 passed, 1 failed, 0 skipped", 1))

    def test_ctest_that_fails_without_a_failed_test(self):
        self.assertEqual(self.summarise(cases=[PASSED], status=1), ("1 passed, 1 failed, 0 skipped", 1))

    def test_ctest_that_leaves_no_report(self):
        self.assertEqual(self.summarise(status=1), ("0 passed, 1 failed, 0 skipped", 1))

    def test_own_tests_count_too(self):
        own = "passed\t1\ta\t\nskipped\t0\tb\tno reason\nfailed\t2\tc\twhy\n"
        self.assertEqual(self.summarise(cases=[PASSED], own=own), ("2 passed, 1 failed, 1 skipped", 1))

    def test_nothing_ran(self):
        self.assertEqual(self.summarise(cases=[]), ("0 passed, 1 failed, 0 skipped", 1))


if __name__ == "__main__":
    unittest.main()
