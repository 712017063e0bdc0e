#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""sources_alone.py BUILD --all | --draw N: compiles alone, without an object, sources
that this build compiles together with others only. A build of folders does not show an include that
a source forgot and another source of its folder has. Programs of tests do not ship: their sources
need not compile alone. --draw: N of them."""
import argparse
import json
import os
import pathlib
import re
import shlex
import sys

import toolchain

INCLUDE = re.compile(r'^#include "(.+)"$', re.M)
# cmake/few_files.cmake adds it for sources that are compiled together.
TOGETHER = "-Wno-subobject-linkage"


def command_alone(command, source):
    """The compiler's words for a source, from those for a file that includes it."""
    words = shlex.split(command["command"])
    compiler = next(i for i, word in enumerate(words) if re.search(r"(g|clang)\+\+$", word))
    output = words.index("-o")
    kept = words[compiler:output] + words[output + 2 :]
    together = str(pathlib.Path(command["file"]))
    return [
        *(word for word in kept if word not in (TOGETHER, "-c", together)),
        # cmake/warnings.cmake leaves it out there.
        "-Wshadow",
        "-fsyntax-only",
        str(source),
    ]


def together_only(commands, tests):
    """By each source that is compiled by an include in a generated file and in no other way, the
    command for it. `tests`: the folder in which the build compiles tests."""
    alone, together = set(), {}
    for command in commands:
        file = pathlib.Path(command["file"])
        if file.parent.name == "Unity" and tests not in file.parents:
            sources = [
                (file.parent / name).resolve()
                for name in INCLUDE.findall(file.read_text(encoding="utf-8"))
            ]
            # The only source of its folder has no other one before it.
            if len(sources) == 1:
                alone.update(sources)
            else:
                together.update((source, command_alone(command, source)) for source in sources)
        else:
            alone.add(file.resolve())
    return {source: together[source] for source in sorted(together.keys() - alone)}, len(alone)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--draw", type=int)
    arguments = parser.parse_args()
    if arguments.all == (arguments.draw is not None):
        parser.error("say --all or --draw N")
    path = arguments.build / "compile_commands.json"
    found, alone = together_only(
        json.loads(path.read_text(encoding="utf-8")), arguments.build / "tests"
    )
    if alone + len(found) < 200:
        sys.exit(f"{path} names {alone + len(found)} sources: it is not that of this project")
    drawn = list(found)
    if not arguments.all:
        drawn = toolchain.drawn(drawn, arguments.draw)
    # Include paths may be relative to the folder of the build.
    os.chdir(arguments.build)
    toolchain.run_all([found[source] for source in drawn])
    print(f"{len(drawn)} of {len(found)} sources compile alone; {alone} others are compiled so")


if __name__ == "__main__":
    main()
