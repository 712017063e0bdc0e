#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""sources_alone.py BUILD: each source that this build compiles together with others, it also
compiles alone (FREEHCA_FEW_FILES=TWINS, or OFF). Else nothing shows an include that a source forgot
and another source of its folder has. Programs of tests do not ship: theirs need not."""
import json
import pathlib
import re
import sys

INCLUDE = re.compile(r'^#include "(.+)"$', re.M)


def together_only(commands, tests):
    """Sources that are compiled by an include in a generated file, and in no other way.
    `tests`: the folder in which the build compiles tests."""
    files = [pathlib.Path(command["file"]) for command in commands]
    alone = {file.resolve() for file in files}
    together = set()
    for file in files:
        if file.parent.name == "Unity" and tests not in file.parents:
            names = INCLUDE.findall(file.read_text(encoding="utf-8"))
            sources = {pathlib.Path(name).resolve() for name in names}
            # The only source of its folder has no other one before it.
            (together if len(sources) > 1 else alone).update(sources)
    return sorted(together - alone), len(together), len(alone)


def main():
    path = pathlib.Path(sys.argv[1], "compile_commands.json")
    bad, together, alone = together_only(
        json.loads(path.read_text(encoding="utf-8")), pathlib.Path(sys.argv[1], "tests")
    )
    if alone < 200:
        sys.exit(f"{path} names {alone} sources: it is not that of this project")
    if bad:
        sys.exit("only compiled together with others:\n" + "\n".join(map(str, bad[:20])))
    print(f"{together} sources are compiled together with others, and alone too")


main()
