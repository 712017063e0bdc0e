#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""face_test.py LIBRARY PROGRAM [--link LAYER] [--seed N] [NAME...]: runs each test of PROGRAM
(--list names them) with LIBRARY preloaded, in processes and on a fabric of its own, whose link
layer is LAYER. A failure shows what the program printed, with its seed. Nothing may be left in
/dev/shm."""
import os
import pathlib
import subprocess
import sys
import unittest

LIBRARY, PROGRAM = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
MEMORY = pathlib.Path("/dev/shm")
LONGEST = 100  # seconds, after which a test hangs


def environment(fabric, link):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FREEHCA_", "LD_"))}
    return {**kept, "LD_PRELOAD": str(LIBRARY), "FREEHCA_FABRIC": fabric, "FREEHCA_LINK": link}


def left_in_memory(fabric):
    return [path.name for path in MEMORY.glob(f"*{fabric}*")]


def names():
    listed = subprocess.run([PROGRAM, "--list"], capture_output=True, text=True, check=True)
    return listed.stdout.split()


class Programs(unittest.TestCase):
    seed = ()
    link = ""

    def run_test(self, name):
        fabric = f"test-{os.getpid()}-{name[:40]}"
        ended = subprocess.run(
            [PROGRAM, *self.seed, name],
            env=environment(fabric, self.link),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=LONGEST,
            check=False,
        )
        self.assertEqual(ended.returncode, 0, f"{name}:\n{ended.stdout[-4000:]}")
        self.assertIn("seed ", ended.stdout)
        self.assertEqual(left_in_memory(fabric), [], f"{name}: left in {MEMORY}")


def test_of(name):
    return lambda self: self.run_test(name)


def take_value(words, option):
    """Removes the option and its value from the words. Returns the value."""
    place = words.index(option)
    value = words[place + 1]
    del words[place : place + 2]
    return value


def main():
    words = sys.argv[3:]
    if "--link" in words:
        Programs.link = take_value(words, "--link")
    if "--seed" in words:
        Programs.seed = ("--seed", take_value(words, "--seed"))
    found = names()
    assert found, f"{PROGRAM} has no tests"
    for name in found:
        setattr(Programs, f"test_{name}", test_of(name))
    chosen = [f"Programs.test_{name}" for name in words]
    unittest.main(argv=[sys.argv[0], "-v", *chosen])


if __name__ == "__main__":
    main()
