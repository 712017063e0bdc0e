#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""compare.py LOG [--check] [--page] [--json FILE] [--svg FILE]: prints what the guest measured, a
line of JSON in LOG for each figure, as a table of instructions with the ratio of our driver's to
libmlx4's. The figures of the data path have to be the same in all runs; those of calls into a
kernel are medians. --check prints each bound that is missed (bounds.py); the exit status is 1 if
there is one. --page prints the table as docs/bench-driver.md has it, and nothing else.
"""
import argparse
import html
import json
import statistics
import sys

import bounds
import verbs_rows
from bounds import OURS, THEIRS

# Of each row: its name, and the figures that are added up in it, or taken away ("-").
DATA_PATH = [
    ("post", ["post"]),
    ("poll", ["poll"]),
    ("post and poll, one at a time", ["post", "poll"]),
    *[
        row
        for n in (1, 8, 32)
        for row in (
            (f"post, batches of {n}", [f"post, batches of {n}"]),
            (f"poll, batches of {n}", [f"poll, batches of {n}"]),
            (f"post and poll, batches of {n}", [f"post, batches of {n}", f"poll, batches of {n}"]),
        )
    ],
    ("poll into an array, batches of 32", ["poll into an array, batches of 32"]),
    *[
        (f"post and poll, {what}", [f"post, {what}", f"poll, {what}"])
        for what in (
            "stream in batches of 32",
            "one signaled in 32",
            "stream with one signaled in 32",
        )
    ],
    ("post and poll of a receive", ["post of a receive", "poll of a receive"]),
    (
        "post and poll of a shared receive",
        ["post of a shared receive", "poll of a shared receive"],
    ),
    *[
        (name, [name])
        for name in (
            "post, 64 bytes inline",
            "poll of an empty queue",
            "post of a receive",
            "poll of a receive",
            "post of a shared receive",
            "poll of a shared receive",
            *verbs_rows.rows_with(verbs_rows.DATA),
        )
    ],
]
CALLS = [
    (
        "completion event: arm to callback",
        ["one write with its completion event", "-post", "-poll"],
    ),
    ("completion event, the driver's part", ["the driver's part of a completion event"]),
    (
        "completion event, the kernel's and the host's",
        [
            "one write with its completion event",
            "-post",
            "-poll",
            "-the driver's part of a completion event",
        ],
    ),
    *[
        (name, [name])
        for name in (
            "create a queue pair",
            "destroy a queue pair",
            *verbs_rows.rows_with(verbs_rows.CONTROL),
        )
    ],
    *[
        (name, parts)
        for whose in ("", " of the program")
        for verb in ("register", "deregister")
        for whole in (f"{verb} 1 MiB{whose}",)
        for name, parts in (
            (whole, [whole]),
            (f"{whole}, the kernel's mapping", [whole, f"-{whole}, the rest"]),
            (f"{whole}, the rest", [f"{whole}, the rest"]),
        )
    ],
    *[
        (name, [name])
        for name in (
            "register 1 MiB a second time",
            "deregister 1 MiB that stays registered",
            "bring-up",
            "bring-up without tables",
        )
    ],
]
COUNTS = [
    (name, [name])
    for name in (
        "bring-up, commands",
        "bring-up without tables, commands",
        "bring-up, bytes of context memory lent",
    )
]


def runs_in(log):
    """[{(driver, row): figures}], one for each run. Calls are measured several times in a run."""
    runs = []
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.startswith("{"):
                continue
            figure = json.loads(line)
            if "run" in figure:
                runs.append({})
            else:
                key = figure["driver"], figure["row"]
                runs[-1].setdefault(key, []).append(figure["instructions"])
    return runs


def totals(run, driver, parts):
    """One figure for each time that the parts were measured; empty if the driver has no such
    figure. A part that was measured once goes with each measurement of the others."""
    measured = [run.get((driver, part.removeprefix("-")), []) for part in parts]
    times = max(map(len, measured)) if all(measured) else 0
    signs = [-1 if part.startswith("-") else 1 for part in parts]
    return [
        sum(sign * figures[min(i, len(figures) - 1)] for sign, figures in zip(signs, measured))
        for i in range(times)
    ]


def rows_of(runs, names):
    for name, parts in names:
        row = {"row": name}
        for driver in (THEIRS, OURS):
            of_runs = [totals(run, driver, parts) for run in runs]
            if not all(of_runs):
                continue
            figures = [figure for of_run in of_runs for figure in of_run]
            row[driver] = round(statistics.median(figures), 1)
            if min(figures) != max(figures):
                row.setdefault("differs", {})[driver] = [min(figures), max(figures)]
        if OURS in row and THEIRS in row:
            row["ratio"] = round(row[OURS] / row[THEIRS], 3)
        if len(row) > 1:
            yield row


def text(figure):
    if figure is None:
        return "-"
    return f"{figure:,.1f}" if figure < 1000 else f"{figure:,.0f}"


def spread(row):
    """How far the runs lie apart, as words; empty when they are the same."""
    return ", ".join(
        f"{driver} {text(least)} to {text(most)}"
        for driver, (least, most) in row.get("differs", {}).items()
        if most > 1.01 * least
    )


def print_rows(title, rows):
    print(f"{title:<54} {THEIRS:>12} {OURS:>12} {'ratio':>6}")
    for row in rows:
        ratio = f"{row['ratio']:.2f}" if "ratio" in row else "-"
        line = f"{row['row']:<54} {text(row.get(THEIRS)):>12} {text(row.get(OURS)):>12} {ratio:>6}"
        print(f"{line}  {spread(row)}".rstrip())


def print_page(rows):
    print(f"{bounds.HEAD}\n| --- | ---: | ---: | ---: |")
    for row in rows:
        figures = [text(row[driver]) if driver in row else "" for driver in (THEIRS, OURS)]
        ratio = f"{row['ratio']:.2f} " if "ratio" in row else ""
        print(f"| {row['row']} | {figures[0]} | {figures[1]} | {ratio}|")


def chart(rows):
    """A bar for each ratio, with a line where both are equal."""
    rows = [row for row in rows if "ratio" in row]
    label, width, step = 300, 420, 22
    scale = width / max(1.0, *(row["ratio"] for row in rows))
    height = 64 + step * len(rows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{label + width + 190}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="10" y="20" font-size="14">Instructions of the guest, freehca as a ratio of '
        "libmlx4 and mlx4_ib (less is better)</text>",
    ]
    for i, row in enumerate(rows):
        top, long = 36 + step * i, row["ratio"] * scale
        colour = "#3b7a57" if row["ratio"] <= 1 else "#b3541e"
        lines += [
            f'<text x="{label - 8}" y="{top + 13}" text-anchor="end">'
            f'{html.escape(row["row"])}</text>',
            f'<rect x="{label}" y="{top}" width="{long:.1f}" height="{step - 6}" fill="{colour}"/>',
            f'<text x="{label + long + 6:.1f}" y="{top + 13}">{row["ratio"]:.2f} '
            f"({text(row[OURS])} of {text(row[THEIRS])})</text>",
        ]
    at = label + scale
    lines += [
        f'<line x1="{at:.1f}" y1="30" x2="{at:.1f}" y2="{height - 24}" stroke="black"/>',
        f'<text x="{at:.1f}" y="{height - 8}" text-anchor="middle">1</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--svg")
    options = parser.parse_args()
    runs = runs_in(options.log)
    if not runs or not all((d, "bring-up") in run for run in runs for d in (OURS, THEIRS)):
        sys.exit(f"bench: {options.log} has no result of both drivers")
    data, calls, counts = (list(rows_of(runs, names)) for names in (DATA_PATH, CALLS, COUNTS))
    if options.page:
        print_page(data + calls + counts)
        return 0
    print_rows("instructions for each request", data)
    print()
    print_rows("instructions, the kernel's among them", calls)
    print("(behind a row: how far its runs lie apart, where by more than 1 %)")
    print()
    print_rows("counts", counts)
    print()
    differ = [row for row in data if "differs" in row]
    for row in differ:
        print(f"not the same in all {len(runs)} runs: {row['row']}: {row['differs']}")
    if not differ:
        print(f"the figures for each request are the same in all {len(runs)} runs")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(
                {"runs": len(runs), "data_path": data, "calls": calls, "counts": counts},
                file,
                indent=2,
            )
            file.write("\n")
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(chart(data + calls))
    if not options.check:
        return 0
    page = bounds.PAGE.read_text(encoding="utf-8")
    wrong = bounds.missed(data + counts, calls, page, bounds.EVENT_BEFORE)
    above = list(bounds.above_bound(data + counts + calls))
    holds = "all other bounds hold" if above else "all bounds hold"
    for line in above:
        print(line)
    print("\n".join(["", *(f"missed: {line}" for line in wrong)] if wrong else [holds]))
    if wrong:
        print("docs/bench-driver.md, Bounds: what they are, and how a new figure is recorded")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
