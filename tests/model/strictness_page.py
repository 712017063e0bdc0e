#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""strictness_page.py PROGRAM: shows that the tables of docs/strictness.md are true.

Each row names a test that exists (ctest runs them all beside this), and a source or the words "no source: chosen". Every
test of a suite "strict_*" has its row, and every command that docs/model.md marks as done has rows for a wrong time, a wrong opcode
modifier, and a parameter: a field of its mailbox, or of the modifier and the immediate where it has none.
"""
import os
import re
import sys

from model_page import PAGE, Program, patterns, tables

STRICTNESS = os.path.join(os.path.dirname(PAGE), "strictness.md")
CHOSEN = "no source: chosen"
# Taken before anything else is: no time is too early.
AT_ANY_TIME = {"QUERY_FW", "MAP_FA"}
# Its mailbox is a GID, and each is one.
ANY_MAILBOX = {"MGID_HASH"}
# What says nothing about a parameter: states and times, places of mailboxes, memory, what others do at the same time.
NO_PARAMETER = re.compile(r"""before |after |while |without |opcode\ modifier |object\ busy$ |twice$ |too\ little\ memory$ |
    (in|out)put\ mailbox |no\ output\ mailbox | .*not\ lent | .*in\ hardwares\ hands | from\ another\ state |
    in\ the\ reset\ state | steering\ by | port\ that\ is | shape\ of\ an\ open |
    .*than\ there\ may\ be""", re.VERBOSE)
NO_MODIFIER = "input modifier that it has not"


def main():
    program = Program(sys.argv[1])
    rows = [(section, row) for section, found in tables(STRICTNESS).items() for row in found]
    wrong, named = [], set()
    chosen = 0
    by_command = {}
    for section, row in rows:
        if len(row) != (5 if section == "Commands" else 4):
            wrong.append(f"{section}: {row[0]}: {len(row)} cells")
            continue
        source, cell = row[-2], row[-1]
        what = ": ".join(row[:-3])
        chosen += source == CHOSEN
        if not source:
            wrong.append(f"{what}: no source")
        if not patterns(cell):
            wrong.append(f"{what}: no test")
        for pattern in patterns(cell):
            tests = program.matching([pattern])
            named.update(tests)
            if not tests:
                wrong.append(f"{what}: no test {pattern}")
        if section == "Commands":
            by_command.setdefault(row[0], set()).add(row[1])
    strict = [test for test in program.tests if test.split(".")[0].split("/")[-1].startswith("strict_")]
    wrong.extend(f"{test} has no row" for test in strict if test not in named)
    done = [name for name, _, what, _ in tables(PAGE)["Commands"] if not what.startswith("refused")]
    for name in done:
        has = by_command.get(name, set())
        if not any(how.startswith("opcode modifier") for how in has):
            wrong.append(f"{name}: no row for an opcode modifier")
        if name not in AT_ANY_TIME and "before its time" not in has:
            wrong.append(f"{name}: no row for a wrong time")
        about = {how for how in has if not NO_PARAMETER.match(how)}
        if name not in ANY_MAILBOX and any(how.startswith("input mailbox") for how in has):
            about.discard(NO_MODIFIER)
        if not about:
            wrong.append(f"{name}: no row for a parameter")
    wrong.extend(f"{name} is no command that is done" for name in by_command if name not in done)
    for line in wrong:
        print(line)
    print(f"{len(rows)} rows with {len(named)} tests: {len(rows) - chosen} with a source, {chosen} chosen; {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
