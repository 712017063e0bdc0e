#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""summary.py RESULTS: sums up ctest's reports (*.xml) and our own tests (own.tsv).

Lists what failed and what was skipped, the time of each stage, and ends with the one line that counts.
"""
import glob
import os
import sys
import xml.etree.ElementTree as ElementTree


def of_ctest(path):
    """(outcome, name, note) of each test in one of ctest's reports."""
    preset = os.path.splitext(os.path.basename(path))[0]
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{preset}: {case.get('name')}"
        skipped = case.find("skipped")
        if case.get("status") == "fail" or case.find("failure") is not None:
            yield "failed", name, ""
        elif case.get("status") == "run":
            yield "passed", name, ""
        else:
            note = (skipped.get("message") if skipped is not None else "") or case.get("status") or ""
            yield "skipped", name, note


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if line.strip()]


def main():
    folder = sys.argv[1]
    tests = [(outcome, name, note) for outcome, _, name, note in rows(os.path.join(folder, "own.tsv"))]
    for path in sorted(glob.glob(os.path.join(folder, "*.xml"))):
        tests += of_ctest(path)
    for wanted in ("skipped", "failed"):
        for outcome, name, note in tests:
            if outcome == wanted:
                print(f"{outcome.upper()}: {name}{': ' + note if note else ''}")
    print("seconds by stage:")
    for seconds, name in rows(os.path.join(folder, "stages.tsv")):
        print(f"{seconds:>8}  {name}")
    count = {outcome: sum(test[0] == outcome for test in tests) for outcome in ("passed", "failed", "skipped")}
    # A run in which nothing was tested has not succeeded.
    if not tests:
        print("no test ran")
        count["failed"] = 1
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
