#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""mutants.py --all | NAME... | --draw N [--seed SEED]: plants faults into a copy of the tree, one by
one, and shows which suite of tests finds each.

The faults are the rows of table.py. The copy has the tracked files of this checkout as they are now
(build/mutants/tree), with a build folder of its own; the compiler's cache gives it the objects that
it has in common with other builds. For each mutant the suites below are built and run in their
order, the quickest first, until one fails. They are those of the stages "host tests" and "threads"
of ./dev test; those of host-asan are the same tests, and those that need a QEMU are left out. A
suite whose program the mutant does not change is not run. The last lines are a table of which suite
killed which mutant.

A suite must pass without a mutant first. Its time then bounds its runs with one: a run that takes
three times as long, and at least half a minute, counts as killed by a hang.

--draw takes N of the mutants that must be killed and are not slow, by the seed. FREEHCA_SEED is the
seed unless --seed says another; otherwise it is fresh. It is printed.

Exit status 1: a mutant lived that should have been killed, or one of those that are known to live
was killed, or a mutant does not compile, or a suite fails without one. Exit status 2: a row of the
table does not fit the tree; nothing has been built then.
"""
import argparse
import filecmp
import hashlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing

from table import MUTANTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutants" / "tree"
LEAST_TIMEOUT = 30
PROCESSORS = len(os.sched_getaffinity(0))


def folder_of(preset):
    return COPY / "build" / {"host": "host", "host-tsan": "host-clang-tsan"}[preset]


class Suite(typing.NamedTuple):
    name: str
    target: str
    program: str  # in the build folder; none: ctest
    script: str = ""  # of Python, which gets the path of the program
    tests: str = "*"  # of a program of GoogleTest; or what ctest leaves out
    preset: str = "host"
    shards: int = PROCESSORS  # of a program of GoogleTest, side by side

    def folder(self):
        return folder_of(self.preset)


# What most of the time of its program goes to. They are suites of their own, behind the others.
SLOW_DRIVER_TESTS = (
    *("ways/every_command", "small_scope/object_orders", "recovery", "lossy_cable"),
    *("register_reset", "resets/bring_up_in_doubt"),
)
SLOW_MODEL_TESTS = ("every/strict_commands", "rates/bad_link")


def only(tests):
    return ":".join(f"{test}.*" for test in tests)


def all_but(tests):
    return "*-" + only(tests)


DRIVER = ("freehca_driver_tests", "tests/model/driver/freehca_driver_tests")
MODEL = ("freehca_model_tests", "tests/model/freehca_model_tests")
THREADS = ("freehca_thread_tests", "tests/threads/freehca_thread_tests")
ORDERS = ("memory_order", "tests/litmus/memory_order")


def unit(name):
    return Suite(f"unit: {name}", f"{name}_test", f"tests/unit/{name}_test")


# The quickest first, with what it takes to build it.
SUITES = (
    Suite("memory order", *ORDERS, script="tests/litmus/orders_test.py"),
    unit("hal"),
    unit("hca"),
    unit("queues"),
    unit("firmware_cmds_routed"),
    unit("queues_routed"),
    Suite("driver", *DRIVER, tests=all_but(SLOW_DRIVER_TESTS)),
    Suite("model", *MODEL, tests=all_but(SLOW_MODEL_TESTS)),
    Suite("strictness_page", *MODEL, script="tests/model/strictness_page.py"),
    Suite("driver: slow tests", *DRIVER, tests=only(SLOW_DRIVER_TESTS)),
    Suite("model: slow tests", *MODEL, tests=only(SLOW_MODEL_TESTS)),
    Suite("threads", *THREADS, shards=1),
    Suite("threads under the thread sanitizer", *THREADS, preset="host-tsan", shards=1),
    Suite("model_page", *MODEL, script="tests/model/model_page.py"),
    Suite("incoherent", "freehca_incoherent_tests", "tests/incoherent/freehca_incoherent_tests"),
    Suite("vfio_user", "freehca_vfio_user_tests", "tests/vfio_user/freehca_vfio_user_tests"),
    # run.mutants compares the table with the tree, from which each mutant differs.
    Suite(
        "all others",
        "all tests/all",
        "",
        tests=r"^((driver|incoherent|threads|vfio_user)\.|run\.mutants$)",
    ),
)


def show(line):
    # ./dev test shows what its commands write there.
    print(line, file=sys.stderr, flush=True)


def check_table(rows=MUTANTS):
    """What is wrong with rows of the table, a line each."""
    wrong = []
    for row in rows:
        path = ROOT / row.file
        found = path.read_text(encoding="utf-8").count(row.pattern) if path.exists() else 0
        if found != 1:
            wrong.append(f"{row.name}: its pattern is {found} times in {row.file}; expected: once")
        if row.pattern == row.replacement:
            wrong.append(f"{row.name}: it changes nothing")
    names = [row.name for row in rows]
    wrong += [
        f"{name}: two rows have this name" for name in sorted(set(names)) if names.count(name) > 1
    ]
    return wrong


def copy_tree():
    """Makes the copy what the tracked files are now. What is the same keeps its time, so that the
    build does not begin anew."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--recurse-submodules"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    tracked = {name for name in listed if name and os.path.lexists(ROOT / name)}
    for name in tracked:
        source, to = ROOT / name, COPY / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if os.path.islink(source):
            if to.is_symlink() and os.readlink(to) == os.readlink(source):
                continue
            to.unlink(missing_ok=True)
            os.symlink(os.readlink(source), to)
        elif not to.is_file() or not filecmp.cmp(source, to, shallow=False):
            shutil.copyfile(source, to)
            shutil.copymode(source, to)
    for path in [p for p in COPY.rglob("*") if p.is_file() or p.is_symlink()]:
        name = str(path.relative_to(COPY))
        if not name.startswith("build/") and "__pycache__" not in name and name not in tracked:
            path.unlink()


def end(process):
    """Its status; None: it had to be killed, with what it has started."""
    status = process.poll()
    if status is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return status


class Outcome(typing.NamedTuple):
    failed: bool
    seconds: float
    how: str = ""


class Tests:
    """The copy's builds and the runs of its suites."""

    def __init__(self, log):
        self.log = log
        self.seconds = {}  # of each suite without a mutant
        self.digests = {}  # of their programs, without a mutant
        self.configured = set()
        self.broken = {}  # suite: how it fails without a mutant

    def run(self, command):
        self.log.write(f"\n$ {' '.join(map(str, command))}\n")
        self.log.flush()
        process = subprocess.Popen(
            command, cwd=COPY, stdout=self.log, stderr=self.log, process_group=0
        )
        try:
            return process.wait()
        finally:
            end(process)

    def configure(self, preset):
        # As the checkout's own build is: then the compiler's cache has most of the objects.
        if preset in self.configured:
            return True
        flags = []
        cache = ROOT / folder_of(preset).relative_to(COPY) / "CMakeCache.txt"
        if cache.exists():
            found = re.search(r"^FREEHCA_FEW_FILES:\w+=(\w+)$", cache.read_text(), re.MULTILINE)
            flags = [f"-DFREEHCA_FEW_FILES={found.group(1)}"] if found else []
        if self.run(["cmake", "--preset", preset, *flags]) != 0:
            return False
        self.configured.add(preset)
        return True

    def build(self, suite):
        command = ["nice", "cmake", "--build", suite.folder(), "--target", *suite.target.split()]
        return self.configure(suite.preset) and self.run(command) == 0

    def digest(self, suite):
        """Of what is run; None: that is not one program."""
        if not suite.program:
            return None
        with open(suite.folder() / suite.program, "rb") as program:
            return hashlib.file_digest(program, "sha256").hexdigest()

    def commands(self, suite):
        """Side by side; the suite passes if each of them does."""
        program = str(suite.folder() / suite.program)
        # Tests that draw a seed get the same one with and without a mutant.
        environment = {**os.environ, "FREEHCA_SEED": "1"}
        if suite.preset == "host-tsan":
            environment["FREEHCA_SECONDS"] = "20"  # as the stage "threads" has it
        if suite.script:
            return [(["/usr/bin/python3", "-B", str(COPY / suite.script), program], environment)]
        if not suite.program:
            command = ["ctest", "--test-dir", str(suite.folder()), "-E", suite.tests]
            command += ["-j", str(PROCESSORS), "--stop-on-failure"]
            return [(command, environment)]
        command = [program, f"--gtest_filter={suite.tests}", "--gtest_brief=1", "--gtest_fail_fast"]
        return [
            (
                command,
                {
                    **environment,
                    "GTEST_TOTAL_SHARDS": str(suite.shards),
                    "GTEST_SHARD_INDEX": str(i),
                },
            )
            for i in range(suite.shards)
        ]

    def execute(self, suite, timeout):
        began = time.monotonic()
        running = []
        for command, environment in self.commands(suite):
            output = tempfile.TemporaryFile()
            process = subprocess.Popen(
                command, cwd=suite.folder(), env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, process_group=0,
            )  # fmt: skip
            running.append((process, output))
        how = ""
        try:
            while not how and any(process.poll() is None for process, _ in running):
                time.sleep(0.01)
                if timeout is not None and time.monotonic() - began > timeout:
                    how = f"a hang: {timeout:.0f} s are over"
                if any(process.poll() not in (None, 0) for process, _ in running):
                    break
        finally:
            statuses = [end(process) for process, _ in running]
        seconds = time.monotonic() - began
        for status, (_, output) in zip(statuses, running):
            output.seek(0)
            text = output.read().decode(errors="replace")
            output.close()
            self.log.write(f"\n# {suite.name}, status {status}\n{text[-20000:]}")
            if status not in (None, 0) and not how:
                how = self.words_of(text, status)
        self.log.flush()
        return Outcome(bool(how), seconds, how)

    @staticmethod
    def words_of(text, status):
        found = re.search(r"^\[  FAILED  \] ([^\s,]+)", text, re.MULTILINE) or re.search(
            r"^\s*\d+/\d+ Test +#\d+: (\S+) .*\*\*\*", text, re.MULTILINE
        )
        if found:
            return found.group(1)
        if status < 0:
            return f"ended by {signal.Signals(-status).name}"
        lines = [line for line in text.splitlines() if line.strip()]
        return lines[-1][:100] if lines else f"status {status}"

    def knows(self, suite):
        return suite.name in self.seconds or suite.name in self.broken

    def pass_without_mutant(self, suite):
        """Runs it once, and keeps what is known of it."""
        outcome = self.execute(suite, None) if self.build(suite) else Outcome(True, 0, "no build")
        if outcome.failed:
            self.broken[suite.name] = outcome.how
            show(f"without a mutant, {suite.name} FAILS: {outcome.how}")
        else:
            self.seconds[suite.name] = outcome.seconds
            self.digests[suite.name] = self.digest(suite)
            show(f"without a mutant, {suite.name} passes: {outcome.seconds:.1f} s")


class Result(typing.NamedTuple):
    mutant: typing.Any
    verdict: str  # killed, lives, or error
    by: str
    seconds: float

    def is_expected(self):
        return self.verdict == ("lives" if self.mutant.lives else "killed")


def put(path, text):
    """Leaves the file's time alone if it has the text already."""
    if path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def try_out(mutant, tests):
    began = time.monotonic()
    path = COPY / mutant.file
    whole = path.read_text(encoding="utf-8")

    def result(verdict, by):
        return Result(mutant, verdict, by, time.monotonic() - began)

    mutated = whole.replace(mutant.pattern, mutant.replacement)
    try:
        for suite in SUITES:
            if not tests.knows(suite):
                put(path, whole)
                tests.pass_without_mutant(suite)
            if suite.name in tests.broken:
                return result("error", f"{suite.name} fails without a mutant")
            put(path, mutated)
            if not tests.build(suite):
                return result("error", f"it does not compile for {suite.name}")
            if suite.program and tests.digest(suite) == tests.digests[suite.name]:
                continue
            outcome = tests.execute(suite, max(LEAST_TIMEOUT, 3 * tests.seconds[suite.name]))
            if outcome.failed:
                return result("killed", f"{suite.name}: {outcome.how}")
    finally:
        put(path, whole)
    return result("lives", "no suite")


def table(results):
    wide = max(len(result.by) for result in results)
    lines = [f"{'mutant':7} {'verdict':8} {'seconds':>7}  {'by':{wide}}  what it breaks"]
    for r in results:
        mark = "" if r.is_expected() else "  <- NOT EXPECTED"
        lines.append(
            f"{r.mutant.name:7} {r.verdict:8} {r.seconds:7.0f}  {r.by:{wide}}  {r.mutant.breaks}{mark}"
        )
    return "\n".join(lines)


def draw(count, seed, mutants=MUTANTS):
    """Of those that must be killed, and soon are."""
    rows = [row for row in mutants if not row.lives and not row.slow]
    return random.Random(seed).sample(rows, min(count, len(rows)))


def chosen(arguments):
    if arguments.all:
        return list(MUTANTS)
    if arguments.draw is not None:
        text = os.environ.get("FREEHCA_SEED")
        seed = arguments.seed
        if seed is None:
            seed = int(text, 0) if text else random.SystemRandom().randrange(1 << 32)
        show(f"FREEHCA_SEED={seed}")
        return draw(arguments.draw, seed)
    known = {row.name: row for row in MUTANTS}
    for name in arguments.names:
        if name not in known:
            sys.exit(f"no mutant {name}; there are: {' '.join(known)}")
    return [known[name] for name in arguments.names]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split(":")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--draw", type=int)
    parser.add_argument("--seed", type=lambda text: int(text, 0))
    arguments = parser.parse_args()
    if bool(arguments.names) + arguments.all + (arguments.draw is not None) != 1:
        parser.error("one of them: --all, names, --draw")
    wrong = check_table()
    for line in wrong:
        show(line)
    if wrong:
        return 2
    mutants = chosen(arguments)
    # The file with the fault is put back then, and what has been started ends too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    began = time.monotonic()
    COPY.mkdir(parents=True, exist_ok=True)
    copy_tree()
    with open(COPY.parent / "log", "w", encoding="utf-8") as log:
        tests = Tests(log)
        if not tests.configure("host"):
            show(f"the copy cannot be configured: {log.name}")
            return 1
        results = []
        for mutant in mutants:
            results.append(try_out(mutant, tests))
            show(
                f"{mutant.name}: {results[-1].verdict}, {results[-1].by}, {results[-1].seconds:.0f} s"
            )
    show("")
    show(table(results))
    as_expected = all(result.is_expected() for result in results) and not tests.broken
    show(
        f"\n{len(results)} mutants, {sum(r.verdict == 'killed' for r in results)} killed, "
        f"{time.monotonic() - began:.0f} s; {'as expected' if as_expected else 'NOT as expected'}"
    )
    return 0 if as_expected else 1


if __name__ == "__main__":
    sys.exit(main())
