#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""figures_test.py commands|context_memory|rings|rings_clang|size PROGRAM [ARGUMENT...]: runs a
measurement in virtual time, whose figures are the same on every machine, and compares them with
what they were when they were last looked at, with a margin. A change for the better that leaves the
margin is an error too: then the figures here, and in docs, are to be made true again.
"""
import re
import subprocess
import sys

# What bench/rings/count.py prints: of each row, the pattern of its figure.
RINGS = {
    "post": r"^post and ring +([\d.]+)",
    "inline": r"^post and ring, 64 bytes inline +([\d.]+)",
    "any": r"^post and ring, opcode known.* +([\d.]+)",
    "poll": r"^poll +([\d.]+)",
    "empty": r"^poll of an empty queue +([\d.]+)",
    "batch": r"^post, each of 32 +([\d.]+)",
    "polls": r"^poll, each of 32 +([\d.]+)",
    "drain": r"^drain, each of 32 +([\d.]+)",
    "count": r"^count, each of 32 +([\d.]+)",
    "datagram": r"^post of a datagram and ring +([\d.]+)",
    "datagrams": r"^post of datagrams, each of 32 +([\d.]+)",
    "receives": r"^post of receives, each of 32 +([\d.]+)",
    "received": r"^poll of receives, each of 32 +([\d.]+)",
    "shared": r"^post of shared receives, each of 32 +([\d.]+)",
    "shared_received": r"^poll of shared receives, each of 32 +([\d.]+)",
}
# However many queue pairs there are: what is allowed lies within 5 %.
CROWDS = [
    f"{where} {crowd} queue pairs"
    for where in ("on one of", "in turn on each of")
    for crowd in (1, 256, 4096, 65536)
]


def rings(crowd, **bounds):
    """The figures of RINGS, and those of CROWDS."""
    assert bounds.keys() == RINGS.keys() and crowd[1] <= 1.05 * crowd[0]
    return [(row, RINGS[row], *bounds[row]) for row in RINGS] + [
        (where, rf"^post and poll {where} +([\d.]+)", *crowd) for where in CROWDS
    ]


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
    # Instructions of g++ 12, then of clang 14, at -O2, and 3 % more.
    "rings": rings(
        post=(58, 63.1),
        inline=(150, 161.6),
        any=(91, 98.9),
        poll=(87, 93.8),
        batch=(42, 45.6),
        polls=(42, 45.8),
        drain=(58, 62.7),
        count=(60, 64.8),
        datagram=(89, 97.2),
        datagrams=(74, 80.8),
        receives=(40, 43.9),
        received=(56, 61.2),
        shared=(38, 41.8),
        shared_received=(72, 77.7),
        empty=(8, 8.2),
        crowd=(152.3, 159.9),
    ),
    "rings_clang": rings(
        post=(58, 62.7),
        inline=(174, 188.4),
        any=(97, 104.9),
        poll=(94, 101.9),
        batch=(50, 54.6),
        polls=(46, 50.0),
        drain=(60, 64.6),
        count=(64, 68.9),
        datagram=(87, 94.7),
        datagrams=(79, 85.6),
        receives=(40, 43.1),
        received=(66, 71.6),
        shared=(38, 40.9),
        shared_received=(84, 91.2),
        empty=(10, 10.3),
        crowd=(158.6, 166.4),
    ),
    # Of g++ 12 at -Os, and 3 % more. What is aimed at is less: bench/size/size.py prints it.
    "size": [
        ("lines of all four", r"^lines of all four: (\d+)", 13790, 15000),
        ("bytes of all four", r"^bytes of all four: (\d+)", 91229, 98100),
        ("bytes of bring-up and RC", r"^bytes of bring-up and RC alone: (\d+)", 69912, 74700),
    ],
}


def check(which, output):
    """What is wrong, one line each."""
    wrong, seen = [], 0
    for what, pattern, least, most in FIGURES[which]:
        figures = list(map(float, re.findall(pattern, output, re.MULTILINE)))
        if which.startswith("rings") and not figures:
            wrong.append(f"{what}: not printed")
        for figure in figures:
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
