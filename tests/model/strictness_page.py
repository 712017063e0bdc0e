#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""strictness_page.py PROGRAM [--write]: shows that the tables of docs/strictness.md are true.

The rows of "Commands" are made of what the tests every/strict_commands.* record: the status, the
rule, and what the model says. The page must be what they make; with --write it becomes so. What is
accepted keeps its words, which no test knows.

In the other sections each row names a test that exists (ctest runs them all beside this). What such
a test records, the whole answer and what the model says of it, is made into its row too; the rows
of tests that record nothing are written by hand. By default nothing is refused there without a
source: a row whose answer is a refusal does not say "no source: chosen". Every test of a suite
"strict_*" has its row, and every command that docs/model.md marks as done has rows for a wrong
time, a wrong opcode modifier, and a parameter: a field of its mailbox, or of the modifier and the
immediate where it has none.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from model_page import PAGE, Program, patterns, tables

STRICTNESS = os.path.join(os.path.dirname(PAGE), "strictness.md")
MADE, BY_HAND = "Commands", "Commands: rows of other tests"
COLUMNS_OF_COMMANDS, COLUMNS = 7, 5
CHOSEN = "no source: chosen"
TAKEN = "no source: taken, complained of; refused with strict=on"
SUITE = "every/strict_commands"
# An answer that refuses: an error completion, an error event, a NAK, or a packet that is lost. What
# `strict=on` alone refuses is taken by default.
REFUSAL = re.compile(
    r'"(local|remote|bad|memory|completion queue|work queue|shared receive queue)|NAK|catastrophic|queue error|'
    r'packets_dropped|rcv_errors|"path migration failed"|\bdropped\b|is lost|internal error|bad parameter'
)
# Beside which status Linux's driver has words for what it is for (mlx4/cmd.c).
WORDS = {
    "internal error": "INTERNAL_ERR",
    "bad operation": "BAD_OP",
    "bad parameter": "BAD_PARAM",
    "bad system state": "BAD_SYS_STATE",
    "bad resource": "BAD_RESOURCE",
    "resource busy": "RESOURCE_BUSY",
    "exceeds limits": "EXCEED_LIM",
    "bad resource state": "BAD_RES_STATE",
    "bad index": "BAD_INDEX",
    "context memory error": "ICM_ERROR",
    "bad QP state": "BAD_QP_STATE",
    "region bound": "REG_BOUND",
    "bad management packet": "BAD_PKT",
    "bad size": "BAD_SIZE",
}
# Taken before anything else is: no time is too early.
AT_ANY_TIME = {"QUERY_FW", "MAP_FA"}
# Its mailbox is a GID, and each is one.
ANY_MAILBOX = {"MGID_HASH"}
# What says nothing about a parameter: states and times, places of mailboxes, memory, what others do
# at the same time.
NO_PARAMETER = re.compile(
    r"""before |after |while |without |opcode\ modifier |object\ busy$ |twice$ |too\ little\ memory$ |
    (in|out)put\ mailbox |no\ output\ mailbox | .*not\ lent | .*in\ hardwares\ hands | from\ another\ state |
    in\ the\ reset\ state | steering\ by | port\ that\ is | shape\ of\ an\ open |
    .*than\ there\ may\ be""",
    re.VERBOSE,
)
NO_MODIFIER = "input modifier that it has not"


def recorded(program):
    """What each test that the page names records, by its name, in their order."""
    named = {
        pattern
        for rows in tables(STRICTNESS).values()
        for row in rows
        for pattern in patterns(row[-1])
    }
    others = ":".join(sorted(pattern for pattern in named if not pattern.startswith(SUITE + ".")))
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "rows.json")
        subprocess.run(
            [
                program,
                f"--gtest_filter={SUITE}.*:{others}",
                "--gtest_brief=1",
                f"--gtest_output=json:{out}",
            ],
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=1100,
        )
        with open(out, encoding="utf-8") as file:
            suites = json.load(file)["testsuites"]
    return {
        f"{suite['name']}.{test['name']}": test for suite in suites for test in suite["testsuite"]
    }


def steady(text):
    """Addresses of the test's memory say nothing."""
    return re.sub(r"0x1[0-9a-f]{8}\b", "0x1...", text)


def made_row(command, how, test, seen, old):
    """The cells of a row; `old`: those that the page has."""
    if "answer" not in seen:
        return [command, how, "nothing was recorded", "", "", "", f"`{test}`"]
    if seen["answer"] == "accepted":
        kept = (
            old
            if old and old[2].startswith("accepted")
            else [command, how, "accepted", "", "", CHOSEN]
        )
        return [command, how, kept[2], "", "", kept[5], f"`{test}`"]
    takes = seen["reaction"] == "takes"
    because = TAKEN if takes else seen["source"]
    return [
        command,
        how,
        ("taken; strict: " if takes else "") + seen["answer"],
        steady(seen["says"]),
        f"Linux mlx4/cmd.c CMD_STAT_{WORDS[seen['answer']]}",
        f"{seen['rule']}: {because}",
        f"`{test}`",
    ]


def made_section(rows, old, commands):
    """The lines of the table, the commands in the order that the page has."""

    def split(test):
        name = test.split("/")[-1]
        command = max((c for c in commands if name.startswith(c + "_")), key=len)
        return command, name[len(command) + 1 :].replace("_", " ")

    made = []
    for test, seen in rows.items():
        command, how = split(test)
        made.append(made_row(command, how, test, seen, old.get(test)))
    order = {command: i for i, command in enumerate(dict.fromkeys(row[0] for row in made))}
    made.sort(key=lambda row: order[row[0]])
    head = ["command", "what is wrong", "answer", "says", "status from", "refused because", "test"]
    return ["| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head)] + made]


def with_recorded_answers(lines, tests):
    """The rows that name one test, which no other row names, with what it recorded."""

    def test_of(line):
        found = patterns(line.split(" | ")[-1]) if line.startswith("| ") else []
        return found[0] if len(found) == 1 else None

    named = [test_of(line) for line in lines]
    made = []
    for line, test in zip(lines, named):
        seen = tests.get(test, {}) if test and not test.startswith(SUITE + ".") else {}
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if "answer" in seen and named.count(test) == 1 and len(cells) == COLUMNS:
            cells[1:3] = [seen["answer"], steady(seen["says"])]
            line = "| " + " | ".join(cells) + " |"
        made.append(line)
    return made


def with_made_rows(program):
    """The page as it should be."""
    with open(STRICTNESS, encoding="utf-8") as page:
        lines = page.read().split("\n")
    found = tables(STRICTNESS)
    old = {patterns(row[-1])[0]: row for row in found[MADE] if patterns(row[-1])}
    commands = {row[0] for row in tables(PAGE)["Commands"]}
    begin = lines.index(f"## {MADE}")
    first = next(i for i in range(begin, len(lines)) if lines[i].startswith("|"))
    last = next(i for i in range(first, len(lines)) if not lines[i].startswith("|"))
    tests = recorded(program)
    of_commands = {test: seen for test, seen in tests.items() if test.startswith(SUITE + ".")}
    return "\n".join(
        lines[:first]
        + made_section(of_commands, old, commands)
        + with_recorded_answers(lines[last:], tests)
    )


def check_page(program_path):
    program = Program(program_path)
    rows = [(section, row) for section, found in tables(STRICTNESS).items() for row in found]
    wrong, named, by_command = [], set(), {}
    refused = taken = others = 0
    for section, row in rows:
        of_commands = section in (MADE, BY_HAND)
        if len(row) != (COLUMNS_OF_COMMANDS if of_commands else COLUMNS):
            wrong.append(f"{section}: {row[0]}: {len(row)} cells")
            continue
        source, cell = row[-2], row[-1]
        what = ": ".join(row[:2])
        if not of_commands and REFUSAL.search(row[1]) and not row[1].startswith("taken"):
            others += 1
            if CHOSEN in source:
                wrong.append(f"{section}: {what}: refused, and no source says so")
        if of_commands:
            accepted = row[2].startswith("accepted")
            taken += TAKEN in source
            refused += not accepted and TAKEN not in source
            if not accepted and (CHOSEN in source or source.endswith(": ")):
                wrong.append(f"{what}: refused, and no source says so")
            if not accepted and not row[3]:
                wrong.append(f"{what}: refused without a word")
            by_command.setdefault(row[0], set()).add(row[1])
        if not source:
            wrong.append(f"{what}: no source")
        if not patterns(cell):
            wrong.append(f"{what}: no test")
        for pattern in patterns(cell):
            tests = program.matching([pattern])
            named.update(tests)
            if not tests:
                wrong.append(f"{what}: no test {pattern}")
    strict = [
        test for test in program.tests if test.split(".")[0].split("/")[-1].startswith("strict_")
    ]
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
    print(
        f"{len(rows)} rows with {len(named)} tests; commands: {refused} refused by a source, {taken} taken without one; "
        f"other refusals: {others}; {len(wrong)} wrong"
    )
    return wrong


def main():
    page = with_made_rows(sys.argv[1])
    with open(STRICTNESS, encoding="utf-8") as file:
        committed = file.read()
    wrong = []
    if "--write" in sys.argv[2:]:
        with open(STRICTNESS, "w", encoding="utf-8") as file:
            file.write(page)
    else:
        lines = set(committed.split("\n"))
        wrong = [f"not on the page: {line}" for line in page.split("\n") if line not in lines]
        if page != committed:
            wrong.append("the page is not what the tests make: strictness_page.py PROGRAM --write")
    wrong += check_page(sys.argv[1])
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
