# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""freehca-switch between the guests of a run: the cable of each leads to a port of it."""
import os
import subprocess
import time


class CableSwitch:
    def __init__(self, program, folder, ends):
        """PROGRAM: the path, and options with commas before them (freehca-switch,--link,eth).
        `names` among them: it listens, and knows each adapter by its name. ENDS: how many cables
        lead to it."""
        self.program, *self.options = program.split(",")
        self.listens = "names" in self.options
        self.options = [option for option in self.options if option != "names"]
        self.folder, self.ends = folder, ends
        self.process = None
        self.said = os.path.join(folder, "switch.log")

    def wire(self, end):
        """The socket on which that adapter listens, and to which the switch connects again and
        again. If the switch listens, it is the switch's."""
        return os.path.join(self.folder, "wires" if self.listens else f"wire{end}")

    def start(self):
        ports = []
        for end in range(1, self.ends + 1):
            ports += ["--port", f"stream:connect={self.wire(end)}"]
        if self.listens:
            ports = ["--listen", self.wire(1), "--ports", str(self.ends), "--names", "required"]
        with open(self.said, "ab") as said:
            self.process = subprocess.Popen(
                [self.program, "--trace", *self.options, *ports],
                stdin=subprocess.DEVNULL,
                stderr=said,
            )
        while self.listens and not os.path.exists(self.wire(1)) and self.process.poll() is None:
            time.sleep(0.02)

    def kill(self):
        """As by a fault of its own, without a word to anybody; start() begins again."""
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=10):
        """Whether it ended as it was asked to."""
        if not self.process or self.process.returncode is not None:
            return True
        self.process.terminate()
        try:
            return self.process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            self.kill()
            return False

    def last_words(self, lines=40):
        try:
            with open(self.said, encoding="utf-8", errors="replace") as said:
                return said.read().splitlines()[-lines:]
        except OSError:
            return []
