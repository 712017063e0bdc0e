#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""figures_test.py commands|context_memory|rings|size PROGRAM [ARGUMENT...]: runs a measurement in
virtual time, whose figures are the same on every machine, and compares them with what they were
when they were last looked at, with a margin. A change for the better that leaves the margin is an
error too: then the figures here, and in docs, are to be made true again.
"""
import re
import subprocess
import sys

# Of each program: (what, pattern of its figure, least, most).
FIGURES = {
    "commands": [
        ("commands for 4096 queue pairs", r"^ +1  side by side +(\d+)", 12400, 12700),
        ("gain of 16 commands side by side", r"^ +16  side by side .* ([\d.]+)$", 15.5, 16.0),
        (
            "gain of 16 commands one after the other",
            r"^ +16  one after the other .* ([\d.]+)$",
            1.0,
            1.05,
        ),
    ],
    "context_memory": [
        (
            "lent for what is occupied, 16384 queue pairs",
            r"for 16384 queue pairs.*: ([\d.]+)$",
            1.0,
            1.01,
        ),
        (
            "lent for what is occupied, 1000 queue pairs",
            r"for 1000 queue pairs.*: ([\d.]+)$",
            1.0,
            1.06,
        ),
        ("blocks lent for nothing", r"^  lent for nothing +(\d+) pages", 0, 32),
    ],
    # Instructions of g++ 12 at -O2, and 3 % more.
    "rings": [
        ("post and ring", r"^post and ring +([\d.]+)", 58, 63.1),
        ("post of 64 bytes inline", r"^post and ring, 64 bytes inline +([\d.]+)", 150, 161.6),
        ("post, opcode of run time", r"^post and ring, opcode known.* +([\d.]+)", 104, 113.6),
        ("poll", r"^poll +([\d.]+)", 88, 94.8),
        ("poll of nothing", r"^poll of an empty queue +([\d.]+)", 8, 8.2),
        ("post, each of 32", r"^post, each of 32 +([\d.]+)", 42, 45.6),
        ("poll, each of 32", r"^poll, each of 32 +([\d.]+)", 45, 48.8),
        ("drain, each of 32", r"^drain, each of 32 +([\d.]+)", 62, 67.6),
        ("count, each of 32", r"^count, each of 32 +([\d.]+)", 64, 69.8),
        ("post of a datagram", r"^post of a datagram and ring +([\d.]+)", 89, 97.2),
        ("datagrams, each of 32", r"^post of datagrams, each of 32 +([\d.]+)", 74, 80.8),
        ("post of receives", r"^post of receives, each of 32 +([\d.]+)", 67, 73.7),
        ("poll of receives", r"^poll of receives, each of 32 +([\d.]+)", 82, 89.0),
        ("post of shared receives", r"^post of shared receives, each of 32 +([\d.]+)", 66, 72.7),
        ("poll of shared receives", r"^poll of shared receives, each of 32 +([\d.]+)", 104, 112.7),
    ],
    # Of g++ 12 at -Os, and 3 % more. What is aimed at is less: bench/size/size.py prints it.
    "size": [
        ("lines of all four", r"^lines of all four: (\d+)", 12416, 13462),
        ("bytes of all four", r"^bytes of all four: (\d+)", 83542, 90577),
        ("bytes of bring-up and RC", r"^bytes of bring-up and RC alone: (\d+)", 66500, 72100),
    ],
}


def check(which, output):
    """What is wrong, one line each."""
    wrong, seen = [], 0
    for what, pattern, least, most in FIGURES[which]:
        for figure in map(float, re.findall(pattern, output, re.MULTILINE)):
            seen += 1
            if not least <= figure <= most:
                wrong.append(f"{what}: {figure:g} is not within {least:g} to {most:g}")
    # Patterns that find nothing check nothing.
    if seen < 3:
        wrong.append(f"only {seen} figures were found in what it printed")
    return wrong


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in FIGURES:
        sys.exit(__doc__)
    run = subprocess.run(sys.argv[2:], capture_output=True, text=True, check=False)
    print(run.stdout, run.stderr, sep="")
    wrong = check(sys.argv[1], run.stdout)
    if run.returncode:
        wrong.append(f"it ended with status {run.returncode}")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
