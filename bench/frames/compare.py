#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""compare.py LOG [--check] [--page]: prints the instructions of a frame that the guest measured, a
line of JSON in LOG for each figure, with the ratio of our driver to libdpdk. --check also prints
each bound that is missed; the exit status is 1 if there is one. --page prints the table as
docs/bench-frames.md has it, and nothing else.
"""
import argparse
import json
import pathlib
import sys

OURS, THEIRS = "freehca", "libdpdk"
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "bench-frames.md"
HEAD = f"| instructions of a frame | {THEIRS} | {OURS} | ratio |"
ROWS = [
    f"{what} of {size} bytes{how}"
    for how in ("", ", checksums by the device")
    for size in (64, 1500)
    for what in ("transmit", "receive")
]
RATIO = 1.0
# Rows that miss RATIO. They are printed with it, and fail if they become worse than this.
REACHED = {}
# Largest distance of each run from the recorded figure.
MARGIN = 0.03


def runs_in(log):
    """[{(driver, row): instructions}], one for each run."""
    runs = []
    with open(log, encoding="utf-8", errors="replace") as file:
        for figure in (json.loads(line) for line in file if line.startswith("{")):
            if "run" in figure:
                runs.append({})
            else:
                runs[-1][figure["driver"], figure["row"]] = figure["instructions"]
    return runs


def recorded(page):
    """{row: (libdpdk, freehca)}, as docs/bench-frames.md has them."""
    rows = {}
    for line in page.split(HEAD, 1)[1].split("\n\n", 1)[0].splitlines()[2:]:
        name, theirs, ours = (cell.strip() for cell in line.strip("|").split("|")[:3])
        rows[name] = float(theirs), float(ours)
    return rows


def judge(runs, table):
    """The bounds that are missed and may not be, and those that REACHED allows to miss."""
    wrong, above = [], []
    for row in ROWS:
        for run in runs:
            theirs, ours = (run[driver, row] for driver in (THEIRS, OURS))
            for driver, figure, record in zip((THEIRS, OURS), (theirs, ours), table[row]):
                if abs(figure - record) > MARGIN * record:
                    wrong.append(f"{row}: {driver} {figure}, recorded {record}")
            line = f"{row}: {ours / theirs:.3f} of {THEIRS}, bound {RATIO:.2f}"
            if ours / theirs > REACHED.get(row, RATIO):
                wrong.append(line)
            elif ours / theirs > RATIO:
                above.append(f"{line}; at most {REACHED[row]:.2f} is allowed")
            elif row in REACHED:
                wrong.append(f"{row}: its bound is kept; take the row out of REACHED")
    return wrong, above


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    runs = runs_in(options.log)
    if not runs or not all((d, row) in run for run in runs for d in (THEIRS, OURS) for row in ROWS):
        sys.exit(f"bench: {options.log} has not all figures of both drivers")
    if options.page:
        print(f"{HEAD}\n| --- | ---: | ---: | ---: |")
        for row in ROWS:
            theirs, ours = (runs[0][driver, row] for driver in (THEIRS, OURS))
            print(f"| {row} | {theirs:.1f} | {ours:.1f} | {ours / theirs:.2f} |")
        return 0
    for number, run in enumerate(runs, 1):
        print(f"{f'instructions of a frame, run {number}':<52} {THEIRS:>8} {OURS:>8} {'ratio':>6}")
        for row in ROWS:
            theirs, ours = (run[driver, row] for driver in (THEIRS, OURS))
            print(f"{row:<52} {theirs:>8.1f} {ours:>8.1f} {ours / theirs:>6.2f}")
    if not options.check:
        return 0
    wrong, above = judge(runs, recorded(PAGE.read_text(encoding="utf-8")))
    for line in above:
        print(line)
    for line in wrong:
        print(f"missed: {line}")
    if not wrong:
        print("all other bounds hold" if above else "all bounds hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
