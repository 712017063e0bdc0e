#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""summary.py RESULTS [SKIPS]: sums up ctest's runs (*.status, *.xml) and our own tests (own.tsv).

Lists what failed and what was skipped, the time of each stage, and ends with the one line that
counts. A test that is skipped and does not stand in skips.txt has failed: what nobody runs, nobody
knows to work.
"""
import fnmatch
import glob
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

from googletest import SKIPPED


# How ctest words that a test asked to be skipped, or is disabled; every other test that did not run
# is broken.
SKIPS = ("SKIP_", "Disabled", "disabled")


def of_program(name, output):
    """What a program of GoogleTest that ended well says of its tests; None: it is none."""
    passed = re.search(r"^\[  PASSED  \] (\d+) tests?\.", output, re.MULTILINE)
    if not passed:
        return None
    tests = [("passed", name, "")] * int(passed.group(1))
    for count in SKIPPED.findall(output):
        tests += [("skipped", name, "it skips itself")] * int(count)
    return tests or [("failed", name, "it ran no test")]


def of_case(preset, case):
    """(outcome, name, note) of each test that one of ctest's stands for, in its report."""
    name = f"{preset}: {case.get('name')}"
    status = case.get("status")
    output = case.findtext("system-out") or ""
    if status == "fail" or case.find("failure") is not None:
        wrong = sorted(set(re.findall(r"^\[  FAILED  \] (\w\S*\.\w[^\s,]*)", output, re.MULTILINE)))
        return [("failed", name, ", ".join(wrong))]
    if status == "run":
        return of_program(name, output) or [("passed", name, "")]
    skipped = case.find("skipped")
    note = (skipped.get("message") if skipped is not None else "") or status or ""
    if status == "disabled" or note.startswith(SKIPS):
        return [("skipped", name, note)]
    return [("failed", name, f"it did not run ({note})")]


def of_ctest(folder, preset):
    """The tests of one run of ctest: its report PRESET.xml and its exit status in PRESET.status."""
    with open(os.path.join(folder, f"{preset}.status"), encoding="utf-8") as file:
        status = int(file.read())
    report = os.path.join(folder, f"{preset}.xml")
    try:
        tests = [
            test
            for case in ElementTree.parse(report).getroot().iter("testcase")
            for test in of_case(preset, case)
        ]
    except (OSError, ElementTree.ParseError) as error:
        return [("failed", f"{preset}: ctest", f"its report cannot be read: {error}")]
    if status and not any(outcome == "failed" for outcome, _, _ in tests):
        tests.append(
            (
                "failed",
                f"{preset}: ctest",
                f"it ended with status {status} and names no failed test",
            )
        )
    return tests


def end_of_log(note):
    """The last lines of the log that a failed test's note names: where the machine that ran it is
    gone, nobody can open the log."""
    named = re.search(r"see (\S+\.log)\)$", note)
    if not named:
        return []
    try:
        with open(named.group(1), encoding="utf-8", errors="replace") as file:
            return [line.rstrip()[:160] for line in file if line.strip()][-30:]
    except OSError as error:
        return [f"its log cannot be read: {error}"]


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if line.strip()]


def may_be_skipped(path):
    """The list's rows: (pattern of names, reason)."""
    allowed = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            pattern, *reason = re.split(r"\s{2,}", line, maxsplit=1)
            if not reason:
                sys.exit(
                    f"{path}:{number}: '{pattern}' has no reason; write one behind it, two spaces apart"
                )
            allowed.append((pattern, reason[0]))
    return allowed


def judged(test, allowed):
    """The test as it counts: one that was skipped without leave has failed."""
    outcome, name, note = test
    if outcome != "skipped" or any(fnmatch.fnmatchcase(name, pattern) for pattern, _ in allowed):
        return test
    return "failed", name, f"skipped ({note or 'no reason given'}), and not in tests/run/skips.txt"


def main():
    folder = sys.argv[1]
    skips = (
        sys.argv[2]
        if len(sys.argv) > 2
        else os.path.join(os.path.dirname(os.path.abspath(__file__)), "skips.txt")
    )
    tests = [
        (outcome, name, note) for outcome, _, name, note in rows(os.path.join(folder, "own.tsv"))
    ]
    for path in sorted(glob.glob(os.path.join(folder, "*.status"))):
        tests += of_ctest(folder, os.path.splitext(os.path.basename(path))[0])
    allowed = may_be_skipped(skips)
    tests = [judged(test, allowed) for test in tests]
    # The names stand behind the logs: of a long run often only the end is kept.
    for outcome, name, note in tests:
        lines = end_of_log(note) if outcome == "failed" else []
        if lines:
            print(f"the end of the log of {name}:", *lines, sep="\n    ")
    # Stages run side by side, so that their seconds do not add up to those of the run.
    print("seconds by stage, of processor time, and the second at which it began:")
    for seconds, name, began, processor in rows(os.path.join(folder, "stages.tsv")):
        print(f"{seconds:>8}  {processor:>6}  {began:>6}  {name}")
    for wanted in ("skipped", "failed"):
        for outcome, name, note in tests:
            if outcome == wanted:
                print(f"{outcome.upper()}: {name}{': ' + note if note else ''}")
    count = {
        outcome: sum(test[0] == outcome for test in tests)
        for outcome in ("passed", "failed", "skipped")
    }
    # A run in which nothing was tested has not succeeded.
    if not tests:
        print("no test ran")
        count["failed"] = 1
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
