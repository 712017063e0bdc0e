#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""refused_attributes.py [ROOT]: a kind, a transition or a port that refuses an attribute records
which one it was.

Refused: driver_error::bad_argument in the code of these places (refused_attribute::refuse() makes
it), and an attribute_id that no place checks or that the test of all attributes does not have."""
import pathlib
import re
import sys

PLACES = ["hca/include/freehca/hca/kinds", "hca/src/kinds", "hca/src/port_operation.cpp"]
PLACES += ["hca/src/ethernet", "hca/src/port_addresses.cpp", "hca/src/objects/resources.cpp"]
PLACES += ["network/src/interface_operation.cpp"]
IDS = "hca/include/freehca/hca/attribute_ids.hpp"
TEST = "tests/model/driver/refused_attribute_test.cpp"
CHECKED = re.compile(r"\b(?:attribute_id|id)::(\w+)|\bFREEHCA_ROW\((\w+),")


def code_of(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = []
    for place in (root / name for name in PLACES):
        files += sorted(place.glob("*.[ch]pp")) if place.is_dir() else [place]
    listed = re.search(r"enum class attribute_id[^{]*\{([^}]*)", code_of(root / IDS))[1]
    ids = re.findall(r"\w+", listed)
    checked, wrong = set(), []
    for file in files:
        code = code_of(file)
        checked |= {a or b for a, b in CHECKED.findall(code)}
        wrong += [f"{file.relative_to(root)}: records no attribute"] * code.count(
            "driver_error::bad_argument"
        )
    tested = {a for a, _ in CHECKED.findall(code_of(root / TEST))}
    wrong += [f"{IDS}: {name} is not checked" for name in ids[1:] if name not in checked]
    wrong += [f"{TEST}: {name} is not tested" for name in ids[1:] if name not in tested]
    for line in wrong:
        print(line)
    print(f"{len(files)} files, {len(ids) - 1} attributes, {len(wrong)} wrong")
    return 1 if wrong or len(ids) < 2 else 0


sys.exit(main())
