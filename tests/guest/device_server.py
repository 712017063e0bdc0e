# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The adapter in a process of its own: freehca-device, and what gives it to a stock QEMU. The words
of `-device mlx4,...` become the program's options, and each netdev of the device becomes a stream
between the program and QEMU, with a hub behind it in QEMU."""
import json
import os
import re
import signal
import subprocess
import time

from control import connect


class DeviceServer:
    def __init__(self, program, device, folder, memory):
        """DEVICE: as for QEMU; FOLDER: for its sockets and what it says; MEMORY: of the guest.
        `wire`, set before start(): 'listen=PATH' or 'connect=PATH', the cable of port 1 to another
        server."""
        # A link, so that another build can take the place of the program.
        self.builds, self.folder, self.memory = program.split(","), folder, memory
        self.program = self.path("freehca-device")
        os.symlink(self.builds[0], self.program)
        self.process = self.link = self.wire = None
        self.options, self.netdevs = {}, {}
        self.client = {
            "driver": "vfio-user-pci",
            "id": "hca0",
            "socket": {"type": "unix", "path": self.path("adapter")},
        }
        kind, *rest = device.split(",")
        if kind != "mlx4":
            raise ValueError(f"no server has the device {kind}")
        for word in rest:
            name, _, value = word.partition("=")
            port = re.fullmatch("netdev([12])", name)
            if port:
                self.netdevs[port[1]] = value
            elif name in ("addr", "bus"):
                self.client[name] = value
            elif name != "id":
                self.options[name] = value
        self.said = os.path.join(folder, "server.log")

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self):
        words = [word for name, value in self.options.items() for word in (f"--{name}", value)]
        for port in self.netdevs:
            words += [f"--port{port}", f"stream:listen={self.path('port' + port)}"]
        if self.wire:
            words += ["--port1", f"stream:{self.wire}"]
        sockets = ["--socket", self.path("adapter"), "--control", self.path("adapter-control")]
        with open(self.said, "ab") as said:
            self.process = subprocess.Popen(
                [self.program, *sockets, *words], stdin=subprocess.DEVNULL, stderr=said
            )
        if not connect(self.path("adapter-control"), self.alive):
            raise OSError(f"freehca-device ended: {self.last_words()}")

    def last_words(self):
        with open(self.said, encoding="utf-8") as said:
            return said.read()

    def alive(self):
        return self.process.poll() is None

    def adapter_process(self):
        """With restarts=on: the program's only child; None in between two."""
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            return next((int(word) for word in children.read().split()), None)

    def kill_adapter(self, seconds=10):
        """Without a word to anybody; returns when another process has its place."""
        before = self.adapter_process()
        if before is None or self.options.get("restarts") != "on":
            raise ValueError("the adapter has no process that another one replaces: restarts=on")
        os.kill(before, signal.SIGKILL)
        self.wait_for_another(before, seconds)

    def wait_for_another(self, before, seconds=10):
        """Until the adapter has another process than that, which has ended."""
        self.link = None
        deadline = time.monotonic() + seconds
        while self.adapter_process() in (None, before):
            if time.monotonic() > deadline:
                raise ValueError("no other process has come")
            time.sleep(0.01)

    def upgrade(self):
        """The next build takes the place of the one that runs. Where there is one build alone, a
        new process of the same one does. The new one's version."""
        self.builds.append(self.builds.pop(0))
        os.unlink(self.program)
        os.symlink(self.builds[0], self.program)
        before = self.adapter_process()
        run = subprocess.run(
            [self.program, "--upgrade", self.path("adapter-control")],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            raise ValueError(run.stderr.strip() or f"status {run.returncode}")
        self.wait_for_another(before)
        return (run.stdout or run.stderr).strip()

    def qemu_arguments(self):
        words = [
            "-object",
            f"memory-backend-memfd,id=ram,size={self.memory},share=on",
            "-machine",
            "memory-backend=ram",
            "-device",
            json.dumps(self.client),
        ]
        for port, netdev in self.netdevs.items():
            hub = 100 + int(port)
            words += [
                "-netdev",
                f"stream,id=server{port},server=off,addr.type=unix,addr.path={self.path('port' + port)}",
            ]
            for peer in (f"server{port}", netdev):
                words += ["-netdev", f"hubport,id={peer}-hub,hubid={hub},netdev={peer}"]
        return words

    def ask(self, **request):
        if not self.link:
            link = connect(self.path("adapter-control"), self.alive)
            if not link:
                raise OSError("freehca-device has ended")
            self.link = link.makefile("rw", encoding="utf-8")
        self.link.write(json.dumps(request) + "\n")
        self.link.flush()
        line = self.link.readline()
        if not line:
            raise OSError("freehca-device has ended")
        answer = json.loads(line)
        if not answer["ok"]:
            raise ValueError(answer["error"])
        return answer

    def get(self, name):
        if name == "counters":
            return self.ask(request="counters")["counters"]
        if name == "explanations":
            return [line["text"] for line in self.ask(request="explain")["explanations"]]
        try:
            value = self.ask(request="get", name=name)["value"]
            return {"on": True, "off": False}.get(value, value)
        except ValueError:
            short = name.removeprefix("counter-")
            return self.ask(request="counters", names=[short])["counters"][short]

    def set(self, name, value):
        self.ask(request="set", name=name, value=value)

    def stop(self, seconds=10):
        """Whether it ended as it was asked to."""
        if not self.process:
            return True
        if self.alive():
            self.process.terminate()
        deadline = time.monotonic() + seconds
        while self.alive() and time.monotonic() < deadline:
            time.sleep(0.02)
        if self.alive():
            self.process.kill()
        return self.process.wait() == 0
