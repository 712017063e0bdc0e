#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""program_faces.py VERSION PROGRAM...: each program tells its version, and its help, and that of
each of its commands, has no control bytes."""
import os
import pathlib
import re
import subprocess
import sys

SUBCOMMAND = re.compile(r"^  ([a-z]+) ", re.M)


def printed(program, *words):
    done = subprocess.run(
        [program, *words],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "NO_COLOR": "1"},
    )
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{program} {words}: status {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def control_bytes(text):
    """Line feeds are the only ones that text has."""
    return sorted({byte for byte in text if (byte < 0x20 and byte != 0x0A) or byte == 0x7F})


def main():
    if control_bytes(b"a\n\x01\x1b[1m\x7f") != [0x01, 0x1B, 0x7F]:
        sys.exit("the checker itself is wrong")
    version, programs = sys.argv[1], sys.argv[2:]
    pages = 0
    for program in programs:
        name = pathlib.Path(program).name
        if (told := printed(program, "--version").decode()) != f"{name} {version}\n":
            # Programs beside hcactl are hcactl for another flavour of the core.
            if told != f"{name.partition('-')[0]} {version}\n":
                sys.exit(f"{name} --version: {told}")
        help_text = printed(program, "--help").decode("utf-8")
        rest = help_text.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
        for words in [()] + [(name,) for name in SUBCOMMAND.findall(rest)]:
            if found := control_bytes(printed(program, *words, "--help")):
                sys.exit(f"{name} {' '.join(words)} --help has bytes {found}")
            pages += 1
    if pages < len(programs) + 6:
        sys.exit(f"the checker itself is wrong: {pages} help texts of {len(programs)} programs")
    print(f"{len(programs)} programs of version {version}, {pages} help texts")


main()
