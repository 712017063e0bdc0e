#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""taken_away.py finds each fault that is planted in a program of tests."""
import concurrent.futures
import pathlib
import tempfile
import unittest
from unittest import mock

import sources
import taken_away
from table import Feature

# A program with three tests. s.send uses a command and a request, s.read another request, and
# s.idle nothing. USED and FAILS have what each test uses, and without what it fails.
PROGRAM = """#!/usr/bin/python3 -B
import os
import sys
USED = {used}
FAILS = {fails}
if "--gtest_list_tests" in sys.argv:
    print("s.")
    print("".join(f"  {{name.partition('.')[2]}}\\n" for name in USED))
    sys.exit()
names = sys.argv[-1].partition("=")[2].split(":")
taken = os.environ.get("FREEHCA_TAKEN_AWAY")
if "FREEHCA_USED" in os.environ:
    with open(os.environ["FREEHCA_USED"], "w") as file:
        file.write("".join(line + "\\n" for name in names for line in USED[name]))
sys.exit(any(taken in FAILS[name] for name in names))
"""


def feature(name, *code):
    return Feature(name, "", f"s.{name}", "none: it", "none: it", code)


FEATURES = (
    feature("send", "command open", "request send"),
    feature("read", "request read"),
    feature("idle", "none: nothing"),
)
USED = {"s.send": ["command 1", "request 2"], "s.read": ["request 3"], "s.idle": []}


class TakenAway(unittest.TestCase):
    def findings(self, name, kind, code, what, fails, tolerated=(), unused=(), used=None):
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(
            2
        ) as pool, mock.patch.multiple(
            taken_away, FEATURES=FEATURES, TOLERATED=tolerated, UNUSED=unused, INCIDENTAL={"open"}
        ):
            path = pathlib.Path(folder, "program")
            path.write_text(PROGRAM.format(used=used or USED, fails=USED | fails), encoding="utf-8")
            path.chmod(0o755)
            program = taken_away.Program(str(path))
            program.look(pool)
            of = {f.name: f for f in FEATURES}
            return list(taken_away.findings(program, of[name], kind, code, what, pool))

    def test_tests_that_fail_without_what_they_use_are_right(self):
        self.assertEqual([], self.findings("send", "command", "open", "command 1", {}))
        self.assertEqual([], self.findings("read", "request", "read", "request 3", {}))

    def test_one_that_passes_without_what_it_uses_is_found(self):
        fails = {"s.send": ["request 2"]}
        self.assertEqual(
            ["send passes without the command open, which it uses"],
            self.findings("send", "command", "open", "command 1", fails),
        )
        tolerated = {("send", "open"): "why"}
        self.assertEqual(
            [], self.findings("send", "command", "open", "command 1", fails, tolerated)
        )

    def test_what_many_use_and_few_look_at_need_not_fail_others(self):
        used = USED | {"s.read": ["request 3", "command 1", "request 2"]}
        self.assertEqual([], self.findings("send", "command", "open", "command 1", {}, used=used))
        self.assertEqual(
            ["read passes without the request send, which it uses"],
            self.findings("send", "request", "send", "request 2", {}, used=used),
        )

    def test_one_that_fails_without_what_it_does_not_use_is_found(self):
        self.assertEqual(
            ["idle fails without the command open, which it does not use"],
            self.findings("send", "command", "open", "command 1", {"s.idle": ["command 1"]}),
        )

    def test_a_feature_whose_own_test_does_not_use_it_is_found(self):
        self.assertEqual(
            ["the test of read does not use the request send"],
            self.findings("read", "request", "send", "request 2", {}),
        )
        self.assertEqual(
            [], self.findings("read", "request", "send", "request 2", {}, (), {("read", "send")})
        )

    def test_a_reason_that_is_not_true_any_more_is_found(self):
        self.assertEqual(
            ["tolerated.py says that send does not use open, but it does",
             "send fails without the command open, which tolerated.py says it does not"],
            self.findings("send", "command", "open", "command 1", {},
                          {("send", "open"): "why"}, {("send", "open")}),
        )  # fmt: skip

    def test_numbers_are_those_of_the_layouts(self):
        for kind, name, number in (
            ("command", "query_fw", 4),
            ("event", "srq_limit", 20),
            ("request", "rdma_write", 8),
        ):
            self.assertEqual(number, taken_away.numbers_of(sources.TREE, kind)[name])


if __name__ == "__main__":
    unittest.main()
