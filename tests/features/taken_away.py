#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""taken_away.py PROGRAM [--draw COUNT [--seed SEED] | NAME...]: takes what a feature uses away from
the modelled adapter, and runs the tests in process of all features. PROGRAM is that of
tests/model/driver. Features: all, so many drawn ones, or those with these names.

Each command, transition, event and work request that the feature names is taken away alone: the
adapter refuses the command, loses the event, or ends the request with an error. Then the tests of
the features that used it, in a run with nothing taken away, have to fail, and all others have to
pass. The feature's own test has to be among those that used it. What need not fail stands in
tolerated.py with the reason.

The last line is "N passed, N failed": the things that were taken away. Exit status 1: one failed.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import sources
from features import is_none, words_of_code
from run_test import plain
from table import FEATURES
from tolerated import INCIDENTAL, TOLERATED, UNUSED

# sources.py has put tests/run into the path.
from googletest import tests_of

TEST_SECONDS = 120
# Where the numbers of each kind are declared. A transition is a command.
NUMBERS = {
    "command": ("hal/layouts/include/freehca/layouts/opcode.hpp", "opcode"),
    "transition": ("hal/layouts/include/freehca/layouts/opcode.hpp", "opcode"),
    "event": ("hal/layouts/include/freehca/layouts/eqe.hpp", "event_type"),
    "request": ("hal/layouts/include/freehca/layouts/wqe.hpp", "wqe_opcode"),
}


def numbers_of(tree, kind):
    """Enumerator to number."""
    file, name = NUMBERS[kind]
    body = re.search(
        rf"enum class {name} [^{{]*{{(.*?)}};", sources.text_of(tree / file), re.DOTALL
    )
    pairs = re.findall(r"(\w+) = (0x[0-9a-f]+|\d+)", body[1] if body else "")
    return sources.at_least(16, {word: int(number, 0) for word, number in pairs}, name)


def taken(kind, number):
    """The value of FREEHCA_TAKEN_AWAY, and a line of the file of FREEHCA_USED."""
    return f"{'command' if kind == 'transition' else kind} {number}"


class Program:
    """A program of GoogleTest, and what each of the features' tests uses of the adapter."""

    def __init__(self, path):
        self.path = path
        instances = {}
        for test in tests_of(path):
            instances.setdefault(plain(test), []).append(test)
        # A feature's test may be of another program, which has no adapter.
        self.tests = {f.test: instances[f.test] for f in FEATURES if f.test in instances}
        self.used = {}

    def run(self, tests, **variables):
        """Whether all of them pass."""
        names = ":".join(name for test in tests for name in self.tests[test])
        try:
            done = subprocess.run(
                [self.path, "--gtest_brief=1", f"--gtest_filter={names}"],
                env=os.environ | variables, timeout=TEST_SECONDS,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def look_at(self, test, folder):
        file = pathlib.Path(folder, test)
        if not self.run([test], FREEHCA_USED=str(file)):
            raise sources.Unreadable(f"{test} fails with nothing taken away")
        return set(file.read_text(encoding="utf-8").splitlines())

    def look(self, pool):
        """Finds what each test uses."""
        with tempfile.TemporaryDirectory() as folder:
            self.used = dict(zip(self.tests, pool.map(self.look_at, self.tests, [folder] * 999)))


def findings(program, feature, kind, name, what, pool):
    """What is wrong when `what` (the value of FREEHCA_TAKEN_AWAY) is taken away."""
    users = [test for test, used in program.used.items() if what in used]
    of = {f.test: f.name for f in FEATURES}
    naming = {f.name for f in FEATURES if (kind, name) in words_of_code(f)}
    if feature.test not in users:
        if (feature.name, name) not in UNUSED:
            yield f"the test of {feature.name} does not use the {kind} {name}"
    elif (feature.name, name) in UNUSED:
        yield f"tolerated.py says that {feature.name} does not use {name}, but it does"
    passes = dict(zip(users, pool.map(lambda t: program.run([t], FREEHCA_TAKEN_AWAY=what), users)))
    for test, passed in passes.items():
        if name in INCIDENTAL and of[test] not in naming:
            continue
        tolerated = (of[test], name) in TOLERATED
        if passed and not tolerated:
            yield f"{of[test]} passes without the {kind} {name}, which it uses"
        if not passed and tolerated:
            yield f"{of[test]} fails without the {kind} {name}, which tolerated.py says it does not"
    others = [test for test in program.tests if test not in users]
    if others and not program.run(others, FREEHCA_TAKEN_AWAY=what):
        for test in others:
            if not program.run([test], FREEHCA_TAKEN_AWAY=what):
                yield f"{of[test]} fails without the {kind} {name}, which it does not use"


def chosen(words):
    """The features of the command line."""
    if words.draw is not None:
        seed = words.seed if words.seed is not None else random.SystemRandom().randrange(1 << 32)
        print(f"drawn with seed {seed}", flush=True)
        with_code = [f for f in FEATURES if has_code(f)]
        return random.Random(seed).sample(with_code, words.draw)
    if not words.names:
        return [f for f in FEATURES if has_code(f)]
    by_name = {f.name: f for f in FEATURES}
    for name in words.names:
        if name not in by_name or not has_code(by_name[name]):
            sys.exit(f"taken_away: there is no feature '{name}' with a test and code")
    return [by_name[name] for name in words.names]


def has_code(feature):
    return not is_none(feature.test) and any(kind in NUMBERS for kind, _ in words_of_code(feature))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--draw", type=int)
    parser.add_argument("--seed", type=int)
    words = parser.parse_args()
    features = chosen(words)
    numbers = {kind: numbers_of(sources.TREE, kind) for kind in NUMBERS}
    program = Program(words.program)
    results = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        program.look(pool)
        for feature in features:
            if feature.test not in program.tests:
                print(f"{feature.name}: its test has no adapter")
                continue
            for kind, name in words_of_code(feature):
                if kind not in NUMBERS:
                    continue
                began = time.monotonic()
                what = taken(kind, numbers[kind][name])
                wrong = list(findings(program, feature, kind, name, what, pool))
                results[feature.name, name] = not wrong
                for line in wrong:
                    print(f"  {line}")
                said = "FAILED" if wrong else "ok"
                print(f"{feature.name} without {kind} {name}: {said}, "
                      f"{time.monotonic() - began:.1f} s", flush=True)  # fmt: skip
    failed = sum(not well for well in results.values())
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
