#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""features.py [--write]: checks the table of features (table.py) against the sources and the tests,
and docs/features.md against the table. --write: writes the page first. Exit status 1: something is
wrong; each line of the output is one finding.
"""
import pathlib
import sys

import sources
from table import FEATURES

PAGE = pathlib.Path("docs", "features.md")
LEAST_ROWS = 60
NONE = "none: "
COLUMNS = ("Name", "Feature", "Test in process", "Test over VFIO", "Judge", "Code")
INTRODUCTION = """# Features of the driver

Each row is a feature of the driver, with what tests it:

- in process: a test of GoogleTest that has the driver in its own process, most of them with the
  modelled adapter (`tests/model/driver`), a few without an adapter (`tests/unit/queues`);
- over VFIO: a case of `tests/guest`, in which the driver has the adapter of a Linux guest;
- judge: what others wrote and what has to work with the driver. `program`: a case of
  `tests/programs`. `pyverbs`: a test of pyverbs, in the case `pyverbs` there. `guest`: a case of
  `tests/guest` in which Linux's driver or its programs are at the other end, or take the adapter
  over;
- code: the commands, transitions, work requests, completion opcodes and events of the sources that
  the feature uses.

`./dev test --feature NAME` runs the tests of a row. `tests/features/features.py --write` makes this
page of `tests/features/table.py`. `tests/features/taken_away.py` takes each command, transition,
request and event of a row away from the modelled adapter: the tests of the rows that use it have to
fail, and no others. `./dev test` does so with five drawn rows, and `./dev test long` with all. A
test compares the table with the driver's sources: it fails if
no row names a command, transition, request, completion opcode or event of the sources.
"""


def is_none(cell):
    return cell.startswith(NONE)


def words_of_code(feature):
    """Pairs of kind and enumerator."""
    for group in feature.code:
        if group.strip() and not is_none(group):
            kind, *names = group.split()
            yield from ((kind, name) for name in names)


def shown(cell, prefix=""):
    return cell if is_none(cell) else f"{prefix}`{cell}`"


def shown_judge(cell):
    if is_none(cell) or " " not in cell:
        return cell
    kind, name = cell.split(" ", 1)
    return f"{kind} `{name}`"


def shown_code(group):
    if is_none(group) or not group.strip():
        return group
    kind, *names = group.split()
    return f"{kind} " + " ".join(f"`{name}`" for name in names)


def render(features):
    rows = [COLUMNS, ("---",) * len(COLUMNS)]
    for f in features:
        code = "; ".join(shown_code(group) for group in f.code)
        rows.append(
            (f"`{f.name}`", f.what, shown(f.test), shown(f.guest), shown_judge(f.judge), code)
        )
    return INTRODUCTION + "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


class Names:
    """What a row may name."""

    def __init__(self, tree=sources.TREE, pyverbs=sources.PYVERBS):
        self.code = sources.enumerators(tree)
        self.tests = sources.tests_in_process(tree)
        self.guest_cases = sources.guest_cases(tree)
        self.program_cases = sources.program_cases()
        self.pyverbs = pyverbs


def wrong_judge(cell, names):
    """What is wrong with the cell, or None."""
    kind, _, name = cell.partition(" ")
    if kind == "program":
        exists = name in names.program_cases
    elif kind == "guest":
        exists = name in names.guest_cases
    elif kind == "pyverbs":
        if name.count(".") != 3:
            return f"'{name}' is not of the form tests.MODULE.CLASS.TEST"
        # Where the package is not installed, nobody can tell.
        exists = sources.has_pyverbs_test(name, names.pyverbs) is not False
    else:
        return f"'{cell}' is no judge; it begins with program, pyverbs, guest or '{NONE.strip()}'"
    return None if exists else f"there is no {kind} '{name}'"


def wrong_cells(feature, names):
    """What is wrong with a row."""
    for column, cell in zip(feature._fields, feature):
        cells = [cell] if isinstance(cell, str) else cell
        if not cells or not all(c.strip() and c.strip() != NONE.strip() for c in cells):
            yield f"the cell '{column}' is empty, or has no reason"
            return
    for group in feature.code:
        if not is_none(group) and len(group.split()) < 2:
            yield f"'{group}' names no enumerator"
    if "|" in "".join((*feature[:-1], *feature.code)):
        yield "a cell has a '|', which ends a cell of the page"
    if not is_none(feature.test):
        folders = names.tests.get(feature.test, ())
        if len(folders) != 1:
            yield f"{len(folders)} folders of tests have a test '{feature.test}', not one"
    if not is_none(feature.guest) and feature.guest not in names.guest_cases:
        yield f"there is no guest case '{feature.guest}'"
    if not is_none(feature.judge):
        wrong = wrong_judge(feature.judge, names)
        if wrong:
            yield wrong
    if all(is_none(cell) for cell in (feature.test, feature.guest, feature.judge)):
        yield "nothing tests it"
    for kind, name in words_of_code(feature):
        if name not in names.code.get(kind, ()):
            yield f"the driver's sources have no {kind} '{name}'"


def findings(features, names, page):
    """Each finding is a line. `page`: the text of docs/features.md."""
    if len(features) < LEAST_ROWS:
        yield f"the table has {len(features)} rows, not {LEAST_ROWS}"
    all_names = [f.name for f in features]
    for name in sorted({name for name in all_names if all_names.count(name) > 1}):
        yield f"{name}: several rows have this name"
    for f in features:
        yield from (f"{f.name}: {wrong}" for wrong in wrong_cells(f, names))
    named = {pair for f in features for pair in words_of_code(f)}
    for kind in sources.KINDS:
        for name in sorted(names.code[kind]):
            if (kind, name) not in named:
                yield f"no row names the {kind} '{name}', which the driver's sources have"
    if page != render(features):
        yield f"{PAGE} is not what the table renders; run tests/features/features.py --write"


def main():
    page = sources.TREE / PAGE
    if sys.argv[1:] == ["--write"]:
        page.write_text(render(FEATURES), encoding="utf-8")
    elif sys.argv[1:]:
        print(__doc__, end="", file=sys.stderr)
        return 2
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    wrong = list(findings(FEATURES, Names(), text))
    for line in wrong:
        print(line)
    if not wrong:
        print(f"{len(FEATURES)} features")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
