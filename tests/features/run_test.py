#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""run_test.py PROGRAM SUITE.TEST: runs one test of a program of GoogleTest, with all its parameters
and types. A test that the program does not have fails."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run"))
from googletest import tests_of  # noqa: E402


def plain(test):
    """The name in the source: INSTANCE/SUITE.TEST/PARAMETER and SUITE/TYPE.TEST are SUITE.TEST."""
    suite, name = test.split(".", 1)
    parts = suite.split("/")
    if parts[-1].isdigit():
        parts.pop()
    return f"{parts[-1]}.{name.split('/', 1)[0]}"


def main():
    program, wanted_test = sys.argv[1:]
    tests = [test for test in tests_of(program) if plain(test) == wanted_test]
    if not tests:
        sys.exit(f"{program} has no test {wanted_test}")
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stage keeps only this of a test's output
    os.execv(program, [program, f"--gtest_filter={':'.join(tests)}"])


if __name__ == "__main__":
    main()
