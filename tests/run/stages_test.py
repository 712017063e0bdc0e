#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Stages: their order, what runs side by side, and that no failure is lost."""
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import plan
from stages import RECORDED, Runner, Stage


def shell(text):
    return ["/bin/sh", "-c", text]


class Stages(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        for name in ("own.tsv", "stages.tsv", "order"):
            (self.folder / name).touch()
        self.addCleanup(self.scratch.cleanup)

    def run_stages(self, *stages):
        self.out = io.StringIO()
        Runner(stages, self.folder, self.out).run()

    def order(self):
        return (self.folder / "order").read_text().split()

    def failures(self):
        lines = (self.folder / "own.tsv").read_text().splitlines()
        return [tuple(line.split("\t")[i] for i in (0, 2, 3)) for line in lines]

    def note(self, word):
        return shell(f"echo {word} >>{self.folder}/order")

    def test_a_stage_waits_for_what_it_needs(self):
        self.run_stages(
            Stage("tests", "test", self.note("tests"), ["build"]),
            Stage("build", "build", shell(f"sleep 0.2; echo build >>{self.folder}/order")),
        )
        self.assertEqual(["build", "tests"], self.order())
        self.assertEqual([], self.failures())

    def test_one_that_cannot_start_yet_does_not_keep_its_lane(self):
        self.run_stages(
            Stage("second", "test", self.note("second"), ["slow"]),
            Stage("first", "test", self.note("first")),
            Stage("slow", "build", shell("sleep 0.3")),
        )
        self.assertEqual(["first", "second"], self.order())

    def test_lanes_run_side_by_side_and_a_lane_one_by_one(self):
        """Each of two lanes waits for a file that the other one makes."""

        def meet(mine, other):
            return shell(
                f"cd {self.folder}; touch {mine}; for i in $(seq 300); do"
                f" [ -e {other} ] && exit 0; sleep 0.1; done; exit 1"
            )

        self.run_stages(
            Stage("left", "a", meet("l", "r")),
            Stage("right", "b", meet("r", "l")),
            Stage("alone", "a", shell(f"cd {self.folder}; mkdir one && sleep 0.2 && rmdir one")),
            Stage("too", "a", shell(f"cd {self.folder}; mkdir one && sleep 0.2 && rmdir one")),
        )
        self.assertEqual([], self.failures())

    def test_a_failure_is_recorded_and_so_is_what_was_not_run(self):
        self.run_stages(
            Stage("build", "build", shell("exit 7")),
            Stage("tests", "test", self.note("tests"), ["build"]),
            Stage("more", "more", self.note("more"), ["tests"]),
            Stage("other", "test", self.note("other")),
        )
        self.assertEqual(["other"], self.order())
        self.assertEqual(
            {
                ("failed", "stage build", "(its command ended with status 7)"),
                ("failed", "stage tests", "(not run: build failed)"),
                ("failed", "stage more", "(not run: tests failed)"),
            },
            set(self.failures()),
        )

    def test_one_that_has_recorded_its_failure_counts_once(self):
        self.run_stages(
            Stage("build", "build", shell(f"exit {RECORDED}")),
            Stage("tests", "test", self.note("tests"), ["build"]),
        )
        self.assertEqual([("failed", "stage tests", "(not run: build failed)")], self.failures())

    def test_a_command_that_is_killed_or_absent_has_failed(self):
        self.run_stages(
            Stage("killed", "a", shell("kill -9 $$")), Stage("absent", "b", ["/no/such/program"])
        )
        self.assertEqual(["stage absent", "stage killed"], sorted(f[1] for f in self.failures()))

    def test_lines_of_stages_are_told_apart(self):
        self.run_stages(
            Stage("left", "a", shell("echo one; echo two >&2")), Stage("right", "b", shell(":"))
        )
        self.assertIn("left | one\n", self.out.getvalue())
        self.assertIn("left | two\n", self.out.getvalue())

    def test_compilers_yield_the_processors_as_a_group(self):
        group = shell("sleep 0.3; cat /proc/self/autogroup || echo none")
        self.run_stages(Stage("left", "build", group), Stage("right", "b", group))
        there = os.path.exists("/proc/self/autogroup")
        self.assertRegex(self.out.getvalue(), "left .*" + ("nice 10" if there else "none"))
        self.assertRegex(self.out.getvalue(), "right .*" + ("nice 0" if there else "none"))

    def test_every_stage_has_its_seconds(self):
        self.run_stages(
            Stage("left", "a", shell("sleep 1.1")), Stage("right", "b", shell("exit 1"))
        )
        rows = dict(
            line.split("\t")[1::-1]
            for line in (self.folder / "stages.tsv").read_text().splitlines()
        )
        self.assertEqual({"left", "right"}, set(rows))
        self.assertIn(int(rows["left"]), range(1, 60))

    def test_a_need_that_does_not_exist_is_refused(self):
        for stages in (
            [Stage("tests", "test", shell(":"), ["build"])],
            [Stage("a", "test", shell(":")), Stage("a", "build", shell(":"))],
        ):
            with self.assertRaises(ValueError):
                Runner(stages, self.folder)

    def test_an_end_of_the_run_ends_its_stages(self):
        program = (
            f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r});"
            "import plan, stages; plan.end_on_signals();"
            f"stages.Runner([stages.Stage(name, name, ['/bin/sh', '-c',"
            f" 'echo $$ >>{self.folder}/pids; exec sleep 600']) for name in 'ab'],"
            f" {str(self.folder)!r}).run()"
        )
        run = subprocess.Popen([sys.executable, "-B", "-c", program], stderr=subprocess.DEVNULL)
        pids = self.folder / "pids"
        for _ in range(300):
            if pids.exists() and len(pids.read_text().split()) == 2:
                break
            time.sleep(0.1)
        run.terminate()
        self.assertNotEqual(0, run.wait(60))
        for pid in pids.read_text().split():
            self.assertFalse(os.path.exists(f"/proc/{pid}"), pid)


class Plan(unittest.TestCase):
    def test_every_tier_has_a_plan(self):
        for tiers in [*([tier] for tier in plan.TIERS), list(plan.TIERS), list(plan.DEFAULT)]:
            with self.subTest(tiers):
                stages = plan.stages_of(tiers, whole=False)
                self.assertEqual("packages", stages[0].name)
                Runner(stages, "/nowhere")  # refuses a need that is missing
                for stage in stages[1:]:
                    self.assertTrue(stage.needs, stage.name)

    def test_every_group_of_packages_exists(self):
        text = (plan.ROOT / "dev.d" / "packages.txt").read_text()
        for groups, _ in plan.OF_TIER.values():
            for group in groups:
                self.assertRegex(text, f"(?m)^{group}: ")

    def test_two_stages_that_build_in_one_folder_share_a_lane(self):
        for stage in plan.stages_of(list(plan.TIERS), whole=True):
            words = " ".join(stage.command)
            demo_builds = "demo --vfio-user" in words and "FREEHCA_DEMO_BUILD" not in words
            if "preset.sh build" in words or "package.py" in words or demo_builds:
                self.assertEqual("build", stage.lane, stage.name)

    def test_what_must_be_in_every_run(self):
        names = [stage.name for stage in plan.stages_of(list(plan.DEFAULT), whole=True)]
        for name in (
            "lint", "host tests", "host-asan tests", "threads", "fuzz", "package", "demo vfio-user",
            "killed often", "mutants", "features", "qom", "bare", "guest",
        ):  # fmt: skip
            self.assertIn(name, names)


if __name__ == "__main__":
    unittest.main()
