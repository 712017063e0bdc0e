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


def rings(crowd, **most):
    """The figures of RINGS, at least 0.935 of what they are at most, and those of CROWDS."""
    assert most.keys() == RINGS.keys() and crowd[1] <= 1.05 * crowd[0]
    return [(row, RINGS[row], round(0.935 * most[row], 2), most[row]) for row in RINGS] + [
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
        post=47.3,
        inline=155.3,
        any=98.9,
        poll=71.1,
        empty=8.2,
        batch=30.2,
        polls=40.4,
        receive=87.6,
        shared_receive=107.1,
        stream=22.4,
        quiet=31.5,
        quiet_stream=24.0,
        quiet_poll=4.2,
        look=32.8,
        count=40.3,
        datagram=58.9,
        datagrams=65.2,
        receives=43.9,
        received=59.9,
        shared=41.8,
        shared_received=73.3,
        crowd=(106.9, 111.9),
    ),
    "rings_clang": rings(
        post=50.7,
        inline=178.5,
        any=98.1,
        poll=71.1,
        empty=10.3,
        batch=31.3,
        polls=45.4,
        receive=89.6,
        shared_receive=108.2,
        stream=23.7,
        quiet=32.0,
        quiet_stream=24.5,
        quiet_poll=4.5,
        look=41.3,
        count=41.4,
        datagram=83.7,
        datagrams=65.1,
        receives=43.1,
        received=64.2,
        shared=40.9,
        shared_received=86.8,
        crowd=(119.1, 124.6),
    ),
    # Of g++ 12 at -Os: at most what is reached. The aims are less: bench/size/size.py prints them.
    "size": [
        (what, rf"^{what}: (\d+)", round(0.92 * most), most)
        for what, most in (
            ("lines of all four", 12177),
            ("bytes of all four", 70160),
            ("bytes of bring-up and RC alone", 71295),
            ("lines of easy", 1371),
            ("bytes of easy", 11450),
            ("lines of interfaces", 607),
            ("bytes of interfaces", 7140),
            ("lines of texts", 324),
            ("bytes of texts", 5930),
            ("lines of core and faces", 14479),
            ("bytes of core and faces", 96265),
            ("lines of all parts", 4735),
            ("bytes of all parts", 48275),
            ("lines of waiting for verbs", 250),
            ("lines of work_requests", 189),
            ("bytes of work_requests", 58430),
        )
    ],
}


def check(which, output):
    """What is wrong, one line each."""
    wrong, seen = [], 0
    for what, pattern, least, most in FIGURES[which]:
        figures = list(map(float, re.findall(pattern, output, re.MULTILINE)))
        if which.startswith(("rings", "size")) and not figures:
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
