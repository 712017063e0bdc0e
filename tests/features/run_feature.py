#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""run_feature.py --check WORD...: the words behind ./dev test --feature are the name of a feature.
run_feature.py RESULTS NAME: runs the tests of a feature (table.py), after building what they need:
the test in process, the guest case, and the judge.

Exit status 2: there is no such feature.
"""
import difflib
import os
import sys

import sources
from features import is_none
from table import FEATURES

# sources.py has put tests/run into the path.
import plan
from stages import Runner, Stage

HERE = sources.TREE / "tests" / "features"
LAUNCHER = plan.PROGRAMS / "ibverbs" / "run" / "freehca-run"


def feature_of(words, features=FEATURES):
    """The feature that the words name. Raises ValueError with a message for the user."""
    if len(words) != 1 or not words[0]:
        given = f"not {len(words)} words" if len(words) > 1 else "which is missing"
        raise ValueError(f"--feature takes the name of one feature, {given}")
    names = {f.name: f for f in features}
    if words[0] in names:
        return names[words[0]]
    near = difflib.get_close_matches(words[0].lower().replace("-", "_"), names, n=5, cutoff=0.5)
    near += [name for name in names if words[0].lower() in name and name not in near][:5]
    hint = f"; near: {' '.join(near)}" if near else ""
    raise ValueError(f"no feature '{words[0]}'{hint}")


class Plan:
    """The stages of a feature. What they need is taken from the plan of ./dev test."""

    def __init__(self, feature):
        self.groups, self.early, self.tests = {"script"}, [], []
        self.all_stages = {stage.name: stage for stage in plan.all_stages([])}
        if not is_none(feature.test):
            self.add_test(feature.test)
        judge, _, judge_name = feature.judge.partition(" ")
        guests = {name for name in (feature.guest,) if not is_none(name)}
        guests |= {judge_name} if judge == "guest" else set()
        for name in sorted(guests):
            self.add_guest(name)
        if judge in ("program", "pyverbs"):
            self.add_program(judge_name if judge == "program" else "pyverbs")

    def need(self, tier, *names):
        """The packages of a tier, and stages that come first."""
        self.groups.update(plan.OF_TIER[tier][0])
        self.early += [name for name in names if name not in self.early]

    def add_test(self, test):
        (folder,) = sources.tests_in_process(sources.TREE)[test]
        target = sources.PROGRAMS[folder]
        # The program of a unit test is in the folder above that of its sources.
        at = folder if folder == "tests/model/driver" else os.path.dirname(folder)
        build = plan.build(f"build of {target}", "host", target)
        self.need("unit", build.name)
        self.all_stages[build.name] = build
        self.tests.append(
            plan.check(f"test: {test}", HERE / "run_test.py", plan.PROGRAMS / at / target, test,
                       needs=[build.name])
        )  # fmt: skip

    def add_guest(self, name):
        case = sources.guest_cases(sources.TREE)[name]
        needs = ["qemu", "guest image", "host programs"]
        if "--bare" in case.options:
            needs.append("bare images x86_64")
        self.need("guest", *needs)
        command = [str(sources.TREE / "tests" / "guest" / "run_cases.py"), case.tier, name]
        self.tests.append(Stage(f"guest: {name}", "tests", command, needs))

    def add_program(self, name):
        self.need("programs", "host programs")
        tier = sources.program_cases()[name].tier
        runner = sources.TREE / "tests" / "programs" / "run_programs.py"
        command = ["/usr/bin/python3", "-B", str(runner), str(LAUNCHER), "--tier", tier, name]
        self.tests.append(Stage(f"program: {name}", "tests", command, ["host programs"]))

    def stages(self):
        packages = Stage("packages", "network", plan.script("install.sh", *sorted(self.groups)))
        return [packages, *(self.all_stages[name] for name in self.early), *self.tests]


def main():
    results, *words = sys.argv[1:]
    try:
        feature = feature_of(words)
    except ValueError as error:
        print(f"test: {error}; docs/features.md lists them", file=sys.stderr)
        return 2
    if results == "--check":
        return 0
    for cell, what in ((feature.guest, "over VFIO"), (feature.judge, "by a judge")):
        if is_none(cell):
            print(f"{feature.name} has no test {what}: {cell.partition(': ')[2]}", file=sys.stderr)
    plan.end_on_signals()
    try:
        Runner(Plan(feature).stages(), results).run()
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
