#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""killed_often.py FREEHCA_DEVICE HCACTL [TIMES]: SIGKILL under traffic, at instants that are spread
over a second. Of the adapter's process: the driver says that its card is gone, and a new process
works. Of the same with --restarts on: the driver says that its card is broken, and works with the
process that took its place. Of the driver's process: the adapter's serves the next one. Each as
often as TIMES says; and of the driver's process a fifth as often in the middle of its bring-up,
between two commands."""
import json
import os
import signal
import socket as sockets
import subprocess
import sys
import tempfile
import time

GONE = 22  # hcactl's exit code for an adapter that is gone or broken (docs/hcactl.md)
ENDLESS = "1000000"
BRING_UP = 36  # commands that it has, at least (docs/evidence/driver.md: 38)


class Server:
    started = []

    def __init__(self, program, socket, *options):
        self.control = socket + ".control"
        self.process = subprocess.Popen(
            [program, "--socket", socket, "--control", self.control, *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        Server.started.append(self.process)
        line = self.process.stderr.readline()
        assert line.startswith("freehca-device: ready: "), line

    def kill(self):
        self.process.kill()
        return self.end()

    def kill_adapter(self):
        """That of the two processes that has the adapter."""
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            os.kill(int(children.read()), signal.SIGKILL)

    def completions(self):
        """The number of completions that the adapter has written."""
        return self.count("cqes")

    def count(self, counter):
        with sockets.socket(sockets.AF_UNIX) as caller:
            caller.settimeout(60)
            caller.connect(self.control)
            request = {"request": "counters", "names": [counter]}
            caller.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(caller.makefile().readline())["counters"][counter]

    def end(self):
        """Its exit status; and it complained of nothing."""
        said = self.process.communicate(timeout=30)[1]
        assert "complaint" not in said, said
        return self.process.returncode


class Driver:
    def __init__(self, program, socket, messages):
        self.process = subprocess.Popen(
            [program, "--vfio-user", socket, "ping", "--messages", messages],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self):
        said = self.process.communicate(timeout=120)[0]
        return self.process.returncode, said


def works(hcactl, socket):
    status, said = Driver(hcactl, socket, "1").end()
    assert status == 0, (status, said)


def start_moving(server, hcactl, socket, instant):
    """A driver that has been moving data for a while, which is another one each time. On a busy
    machine the bring-up takes longer than that."""
    before = server.completions()
    driver = Driver(hcactl, socket, ENDLESS)
    patience = time.monotonic() + 60
    while server.completions() == before:
        assert driver.process.poll() is None, driver.end()
        assert time.monotonic() < patience, "no completion in a minute"
        time.sleep(0.01)
    time.sleep(instant)
    assert driver.process.poll() is None, driver.end()
    return driver


def kill_servers(device, hcactl, socket, times):
    for time_of in range(times):
        server = Server(device, socket)
        driver = start_moving(server, hcactl, socket, time_of / times)
        assert server.kill() == -signal.SIGKILL
        status, said = driver.end()
        assert status == GONE and "gone" in said, (status, said)
        # Where the dead one's socket still lies.
        server = Server(device, socket)
        works(hcactl, socket)
        server.process.terminate()
        assert server.end() == 0


def kill_adapters(device, hcactl, socket, times):
    server = Server(device, socket, "--restarts", "on")
    for time_of in range(times):
        driver = start_moving(server, hcactl, socket, time_of / times)
        server.kill_adapter()
        status, said = driver.end()
        assert status == GONE and "gone or broken" in said, (status, said)
        works(hcactl, socket)
    server.process.terminate()
    assert server.end() == 0


def kill_drivers(device, hcactl, socket, times):
    server = Server(device, socket)
    for time_of in range(times):
        driver = start_moving(server, hcactl, socket, time_of / times)
        driver.process.kill()
        assert driver.end()[0] == -signal.SIGKILL
        works(hcactl, socket)
    server.process.terminate()
    assert server.end() == 0


def is_killed_in_bring_up(server, hcactl, socket, commands):
    """Kills a driver behind so many commands. False if it had come further on a busy machine."""
    moved, sent = server.completions(), server.count("commands")
    driver = Driver(hcactl, socket, ENDLESS)
    patience = time.monotonic() + 60
    while server.count("commands") < sent + commands:
        assert driver.process.poll() is None, driver.end()
        assert time.monotonic() < patience, "no command in a minute"
    driver.process.kill()
    assert driver.end()[0] == -signal.SIGKILL
    in_bring_up = server.count("commands") <= sent + BRING_UP
    assert not in_bring_up or server.completions() == moved
    works(hcactl, socket)
    return in_bring_up


def kill_drivers_in_bring_up(device, hcactl, socket, times):
    server = Server(device, socket)
    times = max(1, times // 5)
    for time_of in range(times):
        commands = 1 + time_of * (BRING_UP - 6) // times
        tries = (is_killed_in_bring_up(server, hcactl, socket, commands) for _ in range(20))
        assert any(tries), f"no driver could be killed behind {commands} commands"
    server.process.terminate()
    assert server.end() == 0


def main():
    device, hcactl = sys.argv[1:3]
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 50
    with tempfile.TemporaryDirectory(prefix="freehca-killed-") as folder:
        socket = os.path.join(folder, "adapter")
        try:
            for kill in (kill_servers, kill_adapters, kill_drivers, kill_drivers_in_bring_up):
                kill(device, hcactl, socket, times)
                print(f"{kill.__name__}: passed")
        finally:
            for left in Server.started:
                if left.poll() is None:
                    left.terminate()


if __name__ == "__main__":
    main()
