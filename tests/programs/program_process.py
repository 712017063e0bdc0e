# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Programs that run as an ordinary user without capabilities, or as root, each with files of its
output."""
import os
import pathlib
import signal
import socket
import subprocess
import time

from expectations import Failed

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 100  # a run that takes longer hangs
NOBODY = 65534


def as_user():
    """The words that start a program as an ordinary user without capabilities."""
    if os.geteuid() != 0:
        return []
    user = ["--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    return ["setpriv", *user, "--inh-caps=-all", "--bounding-set=-all"]


def tracer(path):
    """The words that start a program with its calls that name files, and those of its children, in
    the file. Only these calls are slower."""
    words = ["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "4096", "-e", "signal=none"]
    return [*words, "-e", "trace=%file", "-o", str(path), "--"]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Process:
    """A program on the driver, with its capture, its counters and its output."""

    traced = False  # each process gets a trace (traces.py)

    def __init__(
        self,
        launcher,
        folder,
        fabric,
        name,
        words,
        environment=None,
        reports=True,
        link="",
        options=(),
    ):
        # Several processes behind one launcher would write the same files.
        files = ("--capture", f"{folder / name}.pcap", "--counters", f"{folder / name}.counters")
        layer = ("--link", link) if link else ()
        start = [launcher, "--fabric", fabric, *layer, *options, *(files if reports else ()), "--"]
        self.start(
            folder, name, [*self.user(), *self.tracer(folder, name), *start, *words], environment
        )

    def user(self):
        return as_user()

    def tracer(self, folder, name):
        return tracer(folder / f"{name}.trace") if self.traced else []

    def start(self, folder, name, words, environment=None):
        self.path = folder / name
        self.capture, self.counters = folder / f"{name}.pcap", folder / f"{name}.counters"
        with open(f"{self.path}.output", "wb") as output:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**os.environ, "HOME": str(folder), **(environment or {})},
                start_new_session=True,
            )

    def output(self):
        return pathlib.Path(f"{self.path}.output").read_text(encoding="utf-8", errors="replace")

    def wait(self, seconds=SECONDS):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def terminate(self):
        """Asks it to end. A tracer in front of it waits for it."""
        os.killpg(self.process.pid, signal.SIGTERM)
        self.wait()

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def counter(self, name):
        for line in self.counters.read_text(encoding="utf-8").splitlines():
            if line.startswith(name + " "):
                return int(line.split()[1])
        raise Failed(f"no counter {name} of {self.path.name}")


class AsRoot(Process):
    """A program whose user is root, at least in a namespace of its own."""

    def user(self):
        return [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]


class InRoot(Process):
    """A program in the root of another release, where the launcher's libraries are missing."""

    def __init__(self, folder, name, words):
        self.start(folder, name, [*self.tracer(folder, name), *words])


def listens(port, process):
    """Waits until the server has its socket, so that no client comes too early."""
    socket_row = f":{port:04X} "
    for _ in range(3000):
        for name in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(name, encoding="ascii") as file:
                if any(socket_row in line and " 0A " in line for line in file):
                    return
        if process.process.poll() is not None:
            raise Failed(f"the server ended with status {process.process.returncode}")
        time.sleep(0.01)
    raise Failed("the server does not listen")
