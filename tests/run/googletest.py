# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What a program of GoogleTest has and says."""
import re
import subprocess

# How many tests skipped themselves; behind it their names, unless it was told to be brief.
SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?[.,]", re.MULTILINE)


def tests_of(program):
    """Its tests, each as SUITE.NAME, in its order."""
    tests, suite = [], ""
    for line in subprocess.run(
        [program, "--gtest_list_tests"], check=True, capture_output=True, text=True
    ).stdout.splitlines():
        name = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = name
        else:
            tests.append(suite + name)
    return tests
