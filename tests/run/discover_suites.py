#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""discover_suites.py PROGRAM FILE PREFIX LABELS TIMEOUT [WITHOUT...]: writes the ctest tests of
a program of GoogleTest, one for each of its suites, without the tests that match one of the
patterns WITHOUT.

A process for each test, as gtest_discover_tests has it, costs more than most tests do once a
sanitizer is in the program. The summary counts the tests themselves, by what the program prints.
"""
import collections
import fnmatch
import sys

from googletest import tests_of


def main():
    program, path, prefix, labels, timeout, *without = sys.argv[1:]
    suites = collections.Counter(
        test.split(".")[0]
        for test in tests_of(program)
        if not any(fnmatch.fnmatchcase(test, pattern) for pattern in without)
    )
    but = "-" + ":".join(without) if without else ""
    if not suites:
        sys.exit(f"{program} lists no test")
    with open(path, "w", encoding="utf-8") as file:
        for suite, tests in suites.items():
            name = f"{prefix}{suite}"
            file.write(
                f'add_test([=[{name}]=] "{program}" [=[--gtest_filter={suite}.*{but}]=] '
                "--gtest_brief=1)\n"
                # The longest first: it is not left over for one processor at the end.
                f"set_tests_properties([=[{name}]=] PROPERTIES LABELS [=[{labels}]=] "
                f"TIMEOUT {timeout} COST {tests})\n"
            )


if __name__ == "__main__":
    main()
