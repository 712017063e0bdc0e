#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""run_cases.py [TIER] [PATTERN...]: runs the guest cases of a tier (guest, long), two at a time.
Those that mostly wait are never two at once as long as there are others to run beside them.

A case is a script in cases/ that runs in the guest; comment lines at its head say how:
    # options: ARGUMENTS      for ./dev guest (paths: relative to the checkout); several such lines
                              add up
    # timeout: SECONDS        default 900: it ends a guest that hangs, also beside other work
    # tier: long              default guest
    # program: NAME           of the host build, for the guest's /usr/bin; the case is skipped when
                              it is missing
    # needs: PATH             relative to the checkout; the case is skipped, and says so, when it is
                              missing
    # mostly: waits           it leaves the processors idle for most of its time
    # then: COMMAND           on the host, relative to the checkout, when the guest has passed; the
                              case fails with it; what the guest printed is in
                              build/logs/guest-CASE.log
    # again: NAME TIER ARGUMENTS   once more, as CASE_NAME in that tier, with these arguments too
In options and in this command FILE stands for the path of a file that both share.
Exit status 0: passed; 77: skipped, the reason being its last line of output; else failed.
Results go to FREEHCA_RESULTS/own.tsv; output and kernel log of each case to build/logs.
"""
import collections
import concurrent.futures
import copy
import fnmatch
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOGS = os.path.join(ROOT, "build", "logs")
RESULTS = os.environ.get("FREEHCA_RESULTS", os.path.join(ROOT, "build", "results", "by-hand"))
START = int(os.environ.get("FREEHCA_START", time.time()))


def say(text):
    seconds = int(time.time()) - START
    # In one piece: two threads talk.
    sys.stderr.write(f"[{seconds // 60:>2}:{seconds % 60:02}] {text}\n")


def built(name):
    """Whether the host build has a program of this name."""
    for folder, _, names in os.walk(os.path.join(ROOT, "build", "host")):
        path = os.path.join(folder, name)
        if name in names and os.path.isfile(path) and os.access(path, os.X_OK):
            return True
    return False


def run_into(file, command):
    """Runs a command on the host, all of its output into the file; its exit status."""
    return subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=file,
        stderr=subprocess.STDOUT,
        check=False,
    ).returncode


class Case:
    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.options, self.needs, self.programs, self.timeout, self.tier, self.waits = (
            [],
            [],
            [],
            900,
            "guest",
            False,
        )
        self.then, self.again = [], []
        with open(path, encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    break
                match = re.match(
                    r"# (options|timeout|tier|needs|program|mostly|then|again): (.*)", line
                )
                if not match:
                    continue
                key, value = match.groups()
                if key == "options":
                    self.options += shlex.split(value)
                elif key == "needs":
                    self.needs += shlex.split(value)
                elif key == "program":
                    self.programs += shlex.split(value)
                elif key == "again":
                    self.again.append(shlex.split(value))
                elif key == "then":
                    self.then = shlex.split(value)
                elif key == "timeout":
                    self.timeout = float(value)
                elif key == "mostly":
                    self.waits = value.strip() == "waits"
                else:
                    self.tier = value.strip()

    def variants(self):
        """The case itself, and those that it is run as again."""
        yield self
        for name, tier, *arguments in self.again:
            case = copy.copy(self)
            case.name, case.tier, case.options = (
                f"{self.name}_{name}",
                tier,
                [*arguments, *self.options],
            )
            case.needs = list(self.needs)
            yield case

    @staticmethod
    def with_file(word, path):
        return re.sub(r"\bFILE\b", lambda _: path, word)

    def run(self, qemu):
        """Returns (outcome, seconds, note)."""
        with tempfile.TemporaryDirectory(prefix="freehca-case-") as folder:
            return self.run_with(qemu, os.path.join(folder, "file"))

    def run_with(self, qemu, shared):
        if "--no-device" not in self.options:
            self.needs.append("qemu/qom/meson.build")
        missing = [path for path in self.needs if not os.path.exists(os.path.join(ROOT, path))]
        missing += [f"program {name} in build/host" for name in self.programs if not built(name)]
        if missing:
            return "skipped", 0, "there is no " + ", no ".join(missing)
        log = os.path.join(LOGS, f"guest-{self.name}.log")
        ours, qemus = [self.with_file(option, shared) for option in self.options], []
        if "--" in ours:
            ours, qemus = ours[: ours.index("--")], ours[ours.index("--") + 1 :]
        for name in self.programs:
            ours = [*ours, "--program", name]
        command = [
            os.path.join(ROOT, "dev"),
            "guest",
            # Beside a server of the adapter runs another QEMU, which is Debian's.
            *([] if "--device-server" in ours else ["--qemu", qemu]),
            "--script",
            self.path,
            "--timeout",
            f"{self.timeout:g}",
            "--log",
            os.path.join(LOGS, f"guest-{self.name}-kernel.log"),
            *ours,
            "--",
            *qemus,
        ]
        began = time.monotonic()
        with open(log, "w", encoding="utf-8") as file:
            status = run_into(file, command)
            if status == 0 and self.then:
                then = [self.with_file(word, shared) for word in self.then]
                file.flush()
                if run_into(file, then) != 0:
                    # Never skipped: what the command needs is installed with the tier.
                    status = 1
        seconds = time.monotonic() - began
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = [line.rstrip() for line in file if line.strip()]
        if status == 0:
            return "passed", seconds, ""
        if status == 77:
            return "skipped", seconds, lines[-1] if lines else "no reason given"
        for line in lines[-40:]:
            print("        | " + line, file=sys.stderr)
        return "failed", seconds, f"(status {status}, see {log})"


def main():
    tier = sys.argv[1] if len(sys.argv) > 1 else "guest"
    patterns = sys.argv[2:] or ["*"]
    paths = sorted(glob.glob(os.path.join(ROOT, "tests", "guest", "cases", "*.sh")))
    cases = [case for path in paths for case in Case(path).variants()]
    cases = [
        case
        for case in cases
        if case.tier == tier and any(fnmatch.fnmatch(case.name, pattern) for pattern in patterns)
    ]
    os.makedirs(LOGS, exist_ok=True)
    os.makedirs(RESULTS, exist_ok=True)
    # One QEMU for all of them, also when the checkout changes meanwhile.
    qemu = subprocess.run(
        [os.path.join(ROOT, "dev"), "qemu"], stdout=subprocess.PIPE, text=True, check=True
    )
    qemu = qemu.stdout.strip().split("\n")[-1]
    written = threading.Lock()

    def run_one(case):
        name = f"guest case {cases.index(case) + 1}/{len(cases)}: {case.name}"
        say(f"{name} ...")
        try:
            outcome, seconds, note = case.run(qemu)
        except Exception as error:  # the cases behind it are told of all the same
            outcome, seconds, note = "failed", 0, repr(error)
        say(f"{name}: {outcome.upper()} in {seconds:.0f} s {note}")
        with written, open(os.path.join(RESULTS, "own.tsv"), "a", encoding="utf-8") as file:
            file.write(f"{outcome}\t{seconds:.0f}\tguest: {case.name}\t{note}\n")

    waiting = collections.deque(case for case in cases if case.waits)
    busy = collections.deque(case for case in cases if not case.waits)

    def run_all(mine, then):
        for queue in (mine, then):
            while True:
                try:
                    case = queue.popleft()
                except IndexError:
                    break
                run_one(case)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for lane in [pool.submit(run_all, waiting, busy), pool.submit(run_all, busy, waiting)]:
            lane.result()
    return 0


if __name__ == "__main__":
    sys.exit(main())
