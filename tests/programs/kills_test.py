#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""kills_test.py LIBRARY PROGRAM [--kills N] [--seed N]: four processes under RC traffic of all with
all, one of which is killed N times (default 10; the acceptance has 50) at a random instant. A new
process takes its place. One kill of five hits a process whose forked child lives on.

After each kill the others have ended their connections with the dead process by exceeded retries,
and no other connection; all have moved verified messages with the new process; the fabric has as
many ports as processes live. When the last one ends, nothing is left in /dev/shm."""
import argparse
import collections
import os
import pathlib
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time

PLACES = 4
RETRIES_EXCEEDED = 12  # IBV_WC_RETRY_EXC_ERR
LONGEST = 60  # seconds, after which the test hangs
MEMORY = pathlib.Path("/dev/shm")


class Process:
    """One life of a place."""

    def __init__(self, test, place, life, forks):
        self.place, self.life, self.forks = place, life, forks
        self.child = None
        words = [test.program, test.mailbox, place, life, test.random.getrandbits(60)]
        self.running = subprocess.Popen(
            [*map(str, words), *(["fork"] if forks else [])],
            env=test.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        threading.Thread(target=self.read, args=(test.lines,), daemon=True).start()

    def read(self, lines):
        for text in self.running.stdout:
            lines.put((self, text.split()))

    def children(self):
        number = self.running.pid
        text = pathlib.Path(f"/proc/{number}/task/{number}/children").read_text()
        return [int(word) for word in text.split()]


class Test:
    def __init__(self, options):
        self.program = options.program.resolve()
        self.kills = options.kills
        self.random = random.Random(options.seed)
        self.fabric = f"kills-{os.getpid()}"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("FREEHCA_", "LD_"))}
        library = options.library.resolve()
        self.environment = {**kept, "LD_PRELOAD": str(library), "FREEHCA_FABRIC": self.fabric}
        self.lines = queue.Queue()
        self.dead = set()  # (place, life)
        self.verified = set()  # (place, life, place of the sender, its life)
        self.ended = collections.Counter()  # (place, life of the dead process)
        self.slots = {}  # (place, life) -> slot
        self.orphans = []

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            self.mailbox = pathlib.Path(folder) / "mailbox"
            self.now = [Process(self, place, 1, False) for place in range(PLACES)]
            try:
                self.wait_for_all()
                for number in range(self.kills):
                    self.kill(number)
                self.end()
            finally:
                for process in self.now:
                    process.running.kill()
                for number in self.orphans:
                    os.kill(number, 9)
        print(f"{self.kills} kills, retries exceeded: {sum(self.ended.values())}")

    def kill(self, number):
        victim = self.now[self.random.randrange(PLACES)]
        forks = number % 5 == 4
        if forks and not victim.forks:  # a kill that is not counted brings a process that forks
            victim = self.replace(victim, True)
            self.wait_for_all()
        time.sleep(self.random.random() * 0.2)
        self.replace(victim, False)
        # One of four kills hits processes that still connect.
        if number % 4 != 3:
            self.wait_for_all()

    def replace(self, victim, forks):
        if victim.forks:
            children = victim.children()
            assert len(children) == 1, f"children of a process that has forked: {children}"
            self.orphans += children
        self.dead.add((victim.place, victim.life))
        victim.running.kill()
        victim.running.wait()
        made = Process(self, victim.place, victim.life + 1, forks)
        self.now[victim.place] = made
        return made

    def handle(self, process, words):
        what, numbers = words[0], words[1:]
        if what == "slot":
            self.slots[process.place, process.life] = int(numbers[0])
        elif what == "verified":
            self.verified.add((process.place, process.life, *map(int, numbers)))
        elif what == "ended":
            place, life, status = map(int, numbers)
            assert (place, life) in self.dead, f"a connection with a living process: {words}"
            assert status == RETRIES_EXCEEDED, f"the end of a connection: {words}"
            self.ended[place, life] += 1
        else:
            raise AssertionError(f"place {process.place}, life {process.life}: {' '.join(words)}")

    def wait_for_all(self):
        """Until each process has verified messages of each other one."""
        expected = {
            (to.place, to.life, by.place, by.life)
            for to in self.now
            for by in self.now
            if to is not by
        }
        last = time.monotonic() + LONGEST
        while not expected <= self.verified:
            for process in self.now:
                assert process.running.poll() is None, f"place {process.place} has ended"
            try:
                self.handle(*self.lines.get(timeout=1))
            except queue.Empty:
                assert time.monotonic() < last, f"no messages: {expected - self.verified}"
        # GUIDs count slots from some number on. The first four processes have the first slots.
        first = min(slot for (_, life), slot in self.slots.items() if life == 1)
        used = [self.slots[p.place, p.life] - first for p in self.now]
        assert len(set(used)) == PLACES, f"two processes have one slot: {used}"
        # A slot that a dead process kept would move the next ones up.
        assert max(used) < 2 * PLACES, f"slots of dead processes are not free: {used}"

    def end(self):
        self.wait_for_all()
        assert self.left(), "the fabric has no file"
        for process in self.now:
            process.running.stdin.close()
        for process in self.now:
            status = process.running.wait(timeout=LONGEST)
            # The others may have ended before this one.
            assert status == 0, f"exit status of place {process.place}: {status}"
        assert not self.left(), f"left in {MEMORY}: {self.left()}"

    def left(self):
        return [path.name for path in MEMORY.glob(f"*{self.fabric}*")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.getrandbits(32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    Test(options).run()


if __name__ == "__main__":
    sys.exit(main())
