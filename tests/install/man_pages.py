#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""man_pages.py FOLDER PROGRAM...: each option and each subcommand that the programs' --help has is
in the pages, and the other way round. The page of a program has its name, or the name up to its
first hyphen (hcactl-vfio-user is told of in hcactl.1)."""
import pathlib
import re
import subprocess
import sys


def help_of(program, *words):
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{program} {words}: status {done.returncode}: {done.stderr}")
    return done.stdout


def options_of(text):
    """The lines of CLI11's help that begin with an option: "  -h,--help    Print ..."."""
    words = re.findall(r"^ +(-\S+)", text, re.M)
    return {name for word in words for name in re.findall(r"--([a-z][a-z0-9-]*)", word)}


def subcommands_of(text):
    _, _, rest = text.partition("\nSubcommands:\n")
    return set(re.findall(r"^  ([a-z]+) ", rest.partition("\n\n")[0], re.M))


def page(folder, name):
    """The page of that name, or the one that tells of it beside another program."""
    path = folder / f"{name}.1"
    if not path.exists():
        name = name.partition("-")[0]
        path = folder / f"{name}.1"
    return name, path.read_text(encoding="utf-8")


def options_of_page(text):
    items = re.findall(r"^\.It (Fl .*)$", text, re.M)
    return {name for item in items for name in re.findall(r"Fl -([a-z0-9-]+)", item)}


def subcommands_of_page(text):
    """The items of the first list."""
    first = text.partition(".Bl ")[2].partition(".El")[0]
    return set(re.findall(r"^\.It Cm (\w+)$", first, re.M))


def main():
    folder = pathlib.Path(sys.argv[1])
    pages, found = {}, {}
    for program in sys.argv[2:]:
        name, text = page(folder, pathlib.Path(program).name)
        pages[name] = text
        words = help_of(program)
        options, subcommands = found.setdefault(name, (set(), set()))
        options |= options_of(words)
        for subcommand in subcommands_of(words):
            subcommands.add(subcommand)
            options |= options_of(help_of(program, subcommand))
    wrong, count = [], 0
    for name, text in pages.items():
        options, subcommands = found[name]
        told = (options_of_page(text), subcommands_of_page(text) if subcommands else set())
        count += len(options) + len(subcommands)
        wrong += [f"{name}.1 has no --{o}" for o in sorted(options - told[0])]
        wrong += [f"{name}.1 has --{o}, --help has not" for o in sorted(told[0] - options)]
        wrong += [f"{name}.1 has no '{s}'" for s in sorted(subcommands - told[1])]
        wrong += [f"{name}.1 has '{s}', --help has not" for s in sorted(told[1] - subcommands)]
    if count < 60:
        sys.exit(f"the checker itself is wrong: {found}")
    print(*wrong, sep="\n")
    print(f"{count} options and commands in {len(pages)} pages, {len(wrong)} told wrong")
    sys.exit(1 if wrong else 0)


main()
