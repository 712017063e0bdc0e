# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What the figures of `./dev bench driver` have to be. Each is compared with the figure that the
table of docs/bench-driver.md records, with a margin. Each ratio of our driver to libmlx4 has a
bound.
"""
import pathlib

import verbs_rows

OURS, THEIRS = "freehca", "libmlx4"
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "bench-driver.md"
HEAD = f"| instructions | {THEIRS} | {OURS} | ratio |"
TO_RECORD = "to be recorded"

# Largest distance from the recorded figure: of rows that repeat exactly, and of rows with calls
# into a kernel.
MARGIN, MARGIN_OF_CALLS = 0.03, 0.15
# Ratio of ours to libmlx4, at most.
RATIO = 1.0
RATIOS = {
    "post and poll, one at a time": 0.36,
    "post and poll, batches of 32": 0.30,
    "post and poll, stream in batches of 32": 0.26,
    "post and poll, one signaled in 32": 0.23,
    "post and poll, stream with one signaled in 32": 0.19,
    "post and poll of a receive": 0.45,
    "post and poll of a shared receive": 0.50,
    "completion event: arm to callback": 0.37,
}
ALL_RATIOS = {**verbs_rows.VERBS, **RATIOS}
# Rows that miss their bound. They are printed with it, and fail if they become worse than this.
REACHED = {
    "create: address handle": 7.60,
    "destroy: address handle": 1.70,
}
# The driver's part of an event: at most this share of what it was before it was made shorter. It
# repeats exactly, although it is among the calls.
EVENT = "completion event, the driver's part"
EVENT_SHARE = 0.7
# Instructions of that row before, measured with this program at commit 1789a7b7.
EVENT_BEFORE = 1042
# These rows contain the kernel's mapping of pages, or are nothing else. They are printed alone.
MAPPING = {
    f"{verb} 1 MiB{whose}{part}"
    for verb in ("register", "deregister")
    for whose in ("", " of the program")
    for part in ("", ", the kernel's mapping")
}
# Calls of which libmlx4's figures differ from boot to boot. Ours alone are compared with the
# recorded ones.
OURS_ALONE = ("register ", "deregister ", "bring-up")


def number(figure):
    return f"{figure:,.1f}".removesuffix(".0")


def recorded(page):
    """{row: {driver: figure or TO_RECORD}} as the text of docs/bench-driver.md has them."""
    table = page.split(HEAD, 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    rows = {}
    for line in table:
        name, theirs, ours = (cell.strip() for cell in line.strip("|").split("|")[:3])
        rows[name] = {
            driver: TO_RECORD if cell == TO_RECORD else float(cell.replace(",", ""))
            for driver, cell in ((THEIRS, theirs), (OURS, ours))
            if cell
        }
    return rows


def far_from_recorded(row, records, drivers, margin):
    """What lies too far from the recorded figures, a line each."""
    name = row["row"]
    for driver in drivers:
        if driver not in records:
            if driver in row:
                yield f"{name}: {driver} {number(row[driver])}; the table has no place for it"
        elif driver not in row:
            yield f"{name}: {driver} has no figure"
        elif records[driver] == TO_RECORD:
            yield f"{name}: {driver} {number(row[driver])}; no figure is recorded"
        else:
            # Of an exact row, each run counts. Of a row with calls, the median does.
            figures = [row[driver]]
            if margin == MARGIN:
                figures = row.get("differs", {}).get(driver, figures)
            for figure in figures:
                if abs(figure - records[driver]) > margin * records[driver]:
                    yield (
                        f"{name}: {driver} {number(figure)} is not within {100 * margin:g} % of the"
                        f" recorded {number(records[driver])}"
                    )


def ratio_and_bound(row):
    return row[OURS] / row[THEIRS], ALL_RATIOS.get(row["row"], RATIO)


def above_ratio(row):
    """Empty, or a line if the ratio to libmlx4 is above its bound."""
    if OURS in row and THEIRS in row:
        ratio, most = ratio_and_bound(row)
        if ratio > REACHED.get(row["row"], most):
            yield (
                f"{row['row']}: {number(row[OURS])} is {ratio:.4f} of {THEIRS}'s"
                f" {number(row[THEIRS])}; at most {most:.2f}"
            )


def above_bound(rows):
    """The rows of REACHED that miss their bound, a line each."""
    for row in rows:
        name = row["row"]
        if name in REACHED and OURS in row and THEIRS in row:
            ratio, most = ratio_and_bound(row)
            if ratio > most:
                yield (
                    f"{name}: {ratio:.2f} of {THEIRS}'s, bound {most:.2f}: above it by"
                    f" {100 * (ratio / most - 1):.1f} %; at most {REACHED[name]:.2f} is allowed"
                )
            else:
                yield f"{name}: its bound is kept; take the row out of REACHED"


def event_too_long(row, before):
    if before is None:
        yield f"{EVENT}: {number(row[OURS])}; EVENT_BEFORE in bench/driver/bounds.py has no figure"
    elif row[OURS] > EVENT_SHARE * before:
        yield (
            f"{EVENT}: {number(row[OURS])} is above {EVENT_SHARE} of {number(before)}"
            f" ({number(EVENT_SHARE * before)})"
        )


def missed(exact, calls, page, before):
    """The bounds that these rows of compare.py miss, one line each. `page`: the text of
    docs/bench-driver.md. `before`: EVENT_BEFORE."""
    table = recorded(page)
    rows = [(row, row["row"] == EVENT) for row in calls] + [(row, True) for row in exact]
    measured = {row["row"] for row, _ in rows}
    wrong = [f"{name}: not measured" for name in table if name not in measured | MAPPING]
    for row, repeats in rows:
        name = row["row"]
        if name in MAPPING:
            continue
        if name not in table:
            wrong.append(f"{name}: the table of docs/bench-driver.md does not have this row")
            continue
        alone = not repeats and name.startswith(OURS_ALONE)
        wrong += far_from_recorded(
            row,
            table[name],
            (OURS,) if alone else (THEIRS, OURS),
            MARGIN if repeats else MARGIN_OF_CALLS,
        )
        wrong += above_ratio(row)
        # A ratio that cannot be told would miss no bound.
        if alone and THEIRS in table[name] and THEIRS not in row:
            wrong.append(f"{name}: {THEIRS} has no figure")
        if name == EVENT and OURS in row:
            wrong += event_too_long(row, before)
    return wrong
