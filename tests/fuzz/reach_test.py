#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""reach_test.py REPLAY INPUTS...: replays the inputs of the driver's fuzzer, and fails if they miss
a command that the driver sends, an event or a completion that it decodes, or a work request that it
posts. The names are those that the driver's sources use, so a new one is missed until an input has
it. REPLAY prints what it met (run.hpp, print_reach())."""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYOUTS = ROOT / "hal/layouts/include/freehca/layouts"
QUEUES = ROOT / "queues/include/freehca/queues"
DRIVER = ("firmware_cmds", "queues", "hca")
REPLAY = sys.argv[1:]

# The enumeration, where it is defined, and whether all of its values count or those that the
# driver's sources name.
KINDS = (
    ("opcode", LAYOUTS / "opcode.hpp", False),
    ("event_type", LAYOUTS / "eqe.hpp", False),
    ("wqe_opcode", LAYOUTS / "wqe.hpp", False),
    ("cqe_opcode", LAYOUTS / "cqe.hpp", True),
    ("work_opcode", QUEUES / "requests.hpp", True),
    ("completion_status", QUEUES / "work_completion.hpp", True),
)

# What no input can meet, and why.
EXCEPTIONS = {
    ("opcode", "write_mtt"): "programs send it; the driver writes the entries to memory itself",
}


def values(name, header):
    body = re.search(r"enum class %s\b[^{]*\{(.*?)\n?\};" % name, header.read_text(), re.S).group(1)
    found, following = {}, 0
    for line in body.splitlines():
        entry = re.match(r"\s*(\w+)(?:\s*=\s*(\w+))?,?", re.sub(r"//.*", "", line))
        if entry:
            value = int(entry.group(2), 0) if entry.group(2) else following
            found[entry.group(1)] = value
            following = value + 1
    return found


def named(name):
    """The values of the enumeration that the driver's sources name."""
    sources = (f for top in DRIVER for f in (ROOT / top).rglob("*.[ch]pp"))
    found = (re.findall(r"(?<!\w)%s::(\w+)" % name, f.read_text()) for f in sources)
    return {each for names in found for each in names}


class Reach(unittest.TestCase):
    def test_the_inputs_meet_all_that_the_driver_sends_and_decodes(self):
        done = subprocess.run(REPLAY, capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stdout[-200:] + done.stderr)
        met = set(re.findall(r"^met (\w+) (0x[0-9a-f]+)$", done.stdout, re.M))
        missed, needless, counted = [], [], 0
        for name, header, all_count in KINDS:
            known = values(name, header)
            required = set(known) if all_count else named(name) & set(known)
            self.assertGreater(len(required), 4, name)
            for each in sorted(required):
                counted += 1
                is_met = (name, hex(known[each])) in met
                if (name, each) in EXCEPTIONS:
                    needless += [(name, each)] * is_met
                elif not is_met:
                    missed.append((name, each))
        print("%d things met of %d" % (counted - len(EXCEPTIONS) - len(missed), counted))
        self.assertEqual([], missed)
        self.assertEqual([], needless, "exceptions that are met")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
