#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The glue between QEMU and the model, by random actions on a real QEMU (glue.py), in episodes of
one machine each. What an episode does follows from the seed and the episode's number; when QEMU
does what a socket brings is QEMU's to choose, and a repetition may differ there."""
import argparse
import re
import signal
import sys
import time
import traceback

import machine
from glue import Play

ACTIONS = 150
# An episode that takes so long hangs.
EPISODE_SECONDS = 120
SANITIZER = re.compile(
    r"AddressSanitizer|LeakSanitizer|runtime error:|Assertion|assertion|ERROR:.*:\d+:"
)


def ring(*_):
    raise TimeoutError(f"not done after {EPISODE_SECONDS} s")


def episode(seed, number, actions=ACTIONS):
    """None, or what was found."""
    before = signal.signal(signal.SIGALRM, ring)
    left = signal.alarm(EPISODE_SECONDS)
    play, why = Play(f"{seed}/{number}"), None
    try:
        with play:
            for _ in range(actions):
                play.act()
            play.expect_order()
    except Exception:  # whatever it is, the seed belongs to it
        why = traceback.format_exc()
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.alarm(left)
    errors = play.machine.errors
    if why is None and SANITIZER.search(errors):
        why = "QEMU wrote of an error"
    if why is None:
        return None
    return (
        f"{why}\nwhat was done last:\n  "
        + "\n  ".join(play.did[-30:])
        + f"\nQEMU ended with {play.machine.process and play.machine.process.returncode} and wrote:\n{errors[-6000:]}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("qemu")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1000000)
    parser.add_argument("--episode", type=int, help="this one alone")
    given = parser.parse_args()
    machine.BINARY = given.qemu
    print(f"glue: seed {given.seed}", flush=True)
    number, end = given.episode or 0, time.monotonic() + given.seconds
    while True:
        if found := episode(given.seed, number):
            print(f"finding: seed {given.seed}, episode {number}\n{found}")
            sys.exit(1)
        number += 1
        if given.episode is not None or time.monotonic() > end:
            break
    print(
        f"glue: {number - (given.episode or 0)} episodes of {ACTIONS} actions, no finding",
        flush=True,
    )


if __name__ == "__main__":
    main()
