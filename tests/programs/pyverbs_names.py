#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""pyverbs_names.py [--write] LIST OUTPUT: compares the tests that have passed in the output of
pyverbs' tests (-v) with the names of a list. Those of librdmacm are left out. With --write the list
gets the names of the output.

pyverbs_mlx4_ib.txt and pyverbs_mlx4_ib_roce.txt are what passes on Linux's mlx4_ib and libmlx4 on
the same model (tests/guest/cases/linux_pyverbs.sh, linux_pyverbs_roce.sh). pyverbs_behind.txt names
those of them that do not pass on the driver yet.
"""
import argparse
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
NAME = re.compile(r"^(test_\w+) \((tests\.[\w.]+)\)")
# A message of the library may stand between a test's name and its result.
PASSED = re.compile(r"(?:^|\.\.\. )ok$")
ENDED = re.compile(r"(?:^|\.\.\. )(?:skipped ['\"]|FAIL$|ERROR$)")


def passed(output):
    """The names of the tests that have passed, tests.MODULE.CLASS.TEST."""
    names, current = set(), None
    for line in output.splitlines():
        begun = NAME.match(line)
        if begun:
            test, where = begun.groups()
            current = where if where.endswith(f".{test}") else f"{where}.{test}"
        if current and PASSED.search(line):
            names.add(current)
            current = None
        elif current and ENDED.search(line):
            current = None
    return {name for name in names if not name.startswith("tests.test_rdmacm.")}


def listed(path):
    """The names of a list, whose other lines are comments or empty."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def problems(names, behind, now):
    """What is wrong, as texts: `names` are to pass but for those of `behind`, and `now` do."""
    for name in sorted(names - behind - now):
        yield f"{name} passes on mlx4_ib, and did not pass"
    for name in sorted(names & behind & now):
        yield f"{name} passes now; it stands in pyverbs_behind.txt"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    now = passed(options.output.read_text(encoding="utf-8", errors="replace"))
    if options.write:
        options.list.write_text("".join(f"{name}\n" for name in sorted(now)), encoding="utf-8")
        return
    wrong = [f"missing: {name}" for name in sorted(listed(options.list) - now)]
    wrong += [f"not in {options.list.name}: {name}" for name in sorted(now - listed(options.list))]
    print("\n".join(wrong or [f"{len(now)} tests have passed, as listed"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
