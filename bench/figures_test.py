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
    "receive": r"^poll of a receive +([\d.]+)",
    "shared_receive": r"^poll of a shared receive +([\d.]+)",
    "stream": r"^post of a stream, each of 32 +([\d.]+)",
    "quiet": r"^post, one signaled in 32, each +([\d.]+)",
    "quiet_stream": r"^post of a stream, one signaled in 32, each +([\d.]+)",
    "quiet_poll": r"^poll, one signaled in 32, each +([\d.]+)",
    "look": r"^look, each of 32 +([\d.]+)",
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
        post=(44, 48.7),
        inline=(143, 155.3),
        any=(91, 98.9),
        poll=(65, 71.1),
        empty=(7, 8.2),
        batch=(31, 34.2),
        polls=(37, 40.4),
        receive=(80, 87.6),
        shared_receive=(98, 107.1),
        stream=(22, 24.6),
        quiet=(32, 35.5),
        quiet_stream=(24, 26.5),
        quiet_poll=(3, 4.2),
        look=(30, 32.8),
        count=(37, 40.3),
        datagram=(56, 61.0),
        datagrams=(62, 67.3),
        receives=(41, 43.9),
        received=(55, 59.9),
        shared=(38, 41.8),
        shared_received=(67, 73.3),
        crowd=(108.7, 113.7),
    ),
    "rings_clang": rings(
        post=(49, 53.8),
        inline=(164, 178.5),
        any=(95, 101.3),
        poll=(65, 71.1),
        empty=(9, 10.3),
        batch=(32, 35.2),
        polls=(41, 45.4),
        receive=(82, 89.6),
        shared_receive=(99, 108.2),
        stream=(23, 25.8),
        quiet=(33, 35.8),
        quiet_stream=(24, 26.7),
        quiet_poll=(4, 4.5),
        look=(38, 41.3),
        count=(38, 41.4),
        datagram=(79, 85.7),
        datagrams=(61, 67.1),
        receives=(38, 42.0),
        received=(59, 64.2),
        shared=(36, 39.9),
        shared_received=(80, 86.8),
        crowd=(119.1, 124.6),
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
