#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""model_page.py PROGRAM [--whole]: shows that the tables of docs/model.md are true.

Each test that a row of "Commands", "Events", "Work requests" or "Capabilities" names must pass, and
fail when the command is refused, the event is lost, the request is refused, or the capability is
taken away; each event and capability that the model's sources name has a row. With --whole, every
other test must pass without the capability; those that skip themselves are counted apart.
"""
import fnmatch
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "run"))
from googletest import SKIPPED, tests_of  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "model.md")
SOURCES = os.path.join(ROOT, "qemu", "model", "src", "*", "*.?pp")
CAPABILITIES = os.path.join(ROOT, "qemu", "model", "include", "freehca", "model", "capability.hpp")
TIMEOUT = 300  # seconds, of one run of the program
EVENTS = os.path.join(ROOT, "hal", "layouts", "include", "freehca", "layouts", "eqe.hpp")


def tables(path):
    """Section name to its rows, each a list of cells."""
    found, section = {}, None
    with open(path, encoding="utf-8") as page:
        for line in page:
            if line.startswith("## "):
                section = found.setdefault(line[3:].strip(), [])
            elif section is not None and line.startswith("| ") and not line.startswith("| ---"):
                section.append([cell.strip() for cell in line.strip().strip("|").split(" | ")])
    return {name: rows[1:] for name, rows in found.items()}


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def events_of_the_model():
    """The types, in hexadecimal, that its sources name."""
    types = re.search(r"enum class event_type[^{]*{(.*?)}", text_of(EVENTS), re.DOTALL).group(1)
    codes = dict(re.findall(r"(\w+) = (0x[0-9a-f]+)", types))
    named = {
        name
        for path in glob.glob(SOURCES)
        for name in re.findall(r"event_type::(\w+)", text_of(path))
    }
    return {codes[name] for name in named}


def capabilities_of_the_model():
    return set(re.findall(r'capability_name{[^"}]*"([^"]+)"}', text_of(CAPABILITIES)))


def patterns(cell):
    return re.findall(r"`([^`]+)`", cell)


class Program:
    def __init__(self, path):
        self.path = path
        self.tests = tests_of(path)
        self.skipped = 0

    def matching(self, wanted):
        return [test for test in self.tests if any(fnmatch.fnmatchcase(test, p) for p in wanted)]

    def failing(self, tests, variable, value):
        """Which of the tests fail with the variable set; how many skip themselves is added to
        `skipped`."""
        if not tests:
            return set()
        # In a file: the names of them all are longer than an argument may be.
        with tempfile.NamedTemporaryFile("w", suffix=".flags") as flags:
            flags.write("--gtest_brief=1\n--gtest_filter=" + ":".join(tests) + "\n")
            flags.flush()
            try:
                output = subprocess.run(
                    [self.path, "--gtest_flagfile=" + flags.name],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    env={**os.environ, variable: value},
                    check=False,
                    timeout=TIMEOUT,
                ).stdout
            except subprocess.TimeoutExpired:
                output = ""
        failed = set(re.findall(r"^\[  FAILED  \] (\S+?),? ", output, re.MULTILINE)) & set(tests)
        if not re.search(r"^\[=+\] \d+ tests? from .* ran\.", output, re.MULTILINE):
            # One has ended the program: alone each says for itself.
            if len(tests) == 1:
                return set(tests)
            return {test for test in tests if self.failing([test], variable, value)}
        self.skipped += sum(int(count) for count in SKIPPED.findall(output))
        return failed


def main():
    program, whole = Program(sys.argv[1]), "--whole" in sys.argv[2:]
    page = tables(PAGE)
    wrong, counts = [], {}
    for column, section, there in (
        (1, "Events", events_of_the_model()),
        (0, "Capabilities", capabilities_of_the_model()),
    ):
        told = {row[column] for row in page[section]}
        wrong.extend(f"{section}: {name} is not on the page" for name in sorted(there - told))
        wrong.extend(f"{section}: the model has no {name}" for name in sorted(told - there))

    def row(kind, name, cell, variable, value):
        tests = program.matching(patterns(cell))
        for pattern in patterns(cell):
            if not program.matching([pattern]):
                wrong.append(f"{name}: no test {pattern}")
        if not tests:
            wrong.append(f"{name}: no test")
            return tests, set()
        failed = program.failing(tests, variable, value)
        wrong.extend(f"{name}: {test} passes without it" for test in tests if test not in failed)
        counts.setdefault(kind, [0, 0])
        counts[kind][0] += 1
        counts[kind][1] += len(failed)
        return tests, failed

    for name, _, what, tests in page["Commands"]:
        if not what.startswith("refused"):
            row("commands", name, tests, "FREEHCA_FAULT_COMMAND", name + ":0x02")
    for name, code, _, tests in page["Events"]:
        row("events", name, tests, "FREEHCA_FAULT_EVENT", code + ":lost")
    for name, code, _, what, tests in page["Work requests"]:
        if not what.startswith("refused"):
            row("work requests", name, tests, "FREEHCA_FAULT_OPCODE", code + ":refused")
    for name, _, tests in page["Capabilities"]:
        own, _ = row("capabilities", name, tests, "FREEHCA_WITHOUT", name)
        if whole:
            others = [test for test in program.tests if test not in own]
            program.skipped = 0
            wrong.extend(
                f"{name}: {test} fails without it, and is not named"
                for test in sorted(program.failing(others, "FREEHCA_WITHOUT", name))
            )
            print(
                f"{name}: {len(own)} tests fail without it, {len(others) - program.skipped} others tried, "
                f"{program.skipped} skipped",
                flush=True,
            )
    named = {
        test
        for rows in page.values()
        for cells in rows
        for test in program.matching(patterns(cells[-1]))
    }
    wrong.extend(
        f"{test} fails" for test in sorted(program.failing(sorted(named), "FREEHCA_WITHOUT", ""))
    )
    for line in wrong:
        print(line, file=sys.stderr)
    print(
        ", ".join(f"{n} {kind} with {tests} tests" for kind, (n, tests) in counts.items())
        + f"; {len(wrong)} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
