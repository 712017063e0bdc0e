#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""count.py PROGRAM: the instructions that a post, a poll and their like take, by valgrind: between
a function's entry and its return, callees included. Each is counted over some calls and over twice
as many; the difference is printed, for one request.
"""
import re
import subprocess
import sys

TIMES = 512  # of batches of 32: the send queue goes round 16 times
CASES = [
    ("post and ring", "counted_post", "post", 1),
    ("post and ring, 64 bytes inline", "counted_post_inline", "inline", 1),
    ("post and ring, opcode known at run time", "counted_post_any", "any", 1),
    ("poll", "counted_poll", "post", 1),
    ("poll of an empty queue", "counted_poll", "empty", 1),
    ("post, each of 1 and a ring", "counted_post_batch", "batch", 1),
    ("post, each of 8", "counted_post_batch", "batch", 8),
    ("post, each of 32", "counted_post_batch", "batch", 32),
    ("poll, each of 32", "counted_poll", "batch", 32),
    ("drain, each of 32", "counted_drain", "drain", 32),
    ("count, each of 32", "counted_count", "count", 32),
    ("post of a datagram and ring", "counted_post_datagram", "datagram", 1),
    ("post of datagrams, each of 32", "counted_post_datagrams", "datagrams", 32),
    ("post of receives, each of 32", "counted_post_receives", "receive", 32),
    ("poll of receives, each of 32", "counted_poll", "receive", 32),
    ("post of shared receives, each of 32", "counted_post_shared", "shared", 32),
    ("poll of shared receives, each of 32", "counted_poll", "shared", 32),
]


def counted(program, function, case, times, batch):
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        + [f"--toggle-collect={function}(*", program, case, str(times), str(batch)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or found is None or found.group(1) == "0":
        sys.exit(f"count.py: {case}: status {run.returncode}: {run.stderr}")
    return int(found.group(1))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for what, function, case, batch in CASES:
        once, twice = (
            counted(sys.argv[1], function, case, times, batch) for times in (TIMES, 2 * TIMES)
        )
        print(f"{what:<42} {(twice - once) / TIMES / batch:8.1f} instructions", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
