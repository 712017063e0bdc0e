# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The host's end of the guest's control line (see image/usr/lib/guest/lib.sh for the commands)."""
import json
import os
import socket
import threading
import time


class Rendezvous:
    """Where the guests of a pair wait for each other."""

    def __init__(self, count):
        self.count = count
        self.condition = threading.Condition()
        self.arrived = {}

    def meet(self, name, seconds=300):
        with self.condition:
            arrived = self.arrived.setdefault(name, [0])
            arrived[0] += 1
            self.condition.notify_all()
            # A name can be used again: each use is one round of `count` arrivals.
            goal = -(-arrived[0] // self.count) * self.count
            return self.condition.wait_for(lambda: arrived[0] >= goal, seconds)


def connect(path, alive):
    """Connects to a socket that QEMU is about to make."""
    while alive():
        try:
            link = socket.socket(socket.AF_UNIX)
            link.connect(path)
            return link
        except (FileNotFoundError, ConnectionRefusedError):
            link.close()
            time.sleep(0.02)
    return None


class Qmp:
    def __init__(self, path, alive):
        self.file = connect(path, alive).makefile("rw", encoding="utf-8")
        self.file.readline()
        self.run({"execute": "qmp_capabilities"})

    def run(self, command):
        self.file.write(json.dumps(command) + "\n")
        self.file.flush()
        while True:
            line = self.file.readline()
            if not line:
                raise OSError("QEMU has closed its QMP socket")
            answer = json.loads(line)
            if "error" in answer:
                raise ValueError(answer["error"]["desc"])
            if "return" in answer:
                return answer["return"]


class Control:
    """Answers one guest's commands, in a thread of its own."""

    def __init__(self, guest, rendezvous):
        self.guest = guest
        self.rendezvous = rendezvous
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def start(self):
        self.thread.start()

    def drain(self):
        """Once QEMU has ended: what the guest said last may not have been read yet."""
        self.thread.join(5)

    def alive(self):
        return self.guest.process.poll() is None

    def serve(self):
        try:
            self.serve_link()
        except OSError:
            pass  # QEMU has ended; what that means is said by whoever waits for it.

    def open_line(self):
        link = connect(self.guest.socket("control"), self.alive)
        return link.makefile("rwb", buffering=0) if link else None

    def serve_link(self):
        line = self.open_line()
        while line is not None and (raw := line.readline()):
            words = raw.decode("utf-8", "replace").strip("\r\n\0 ")
            if words.startswith("exit "):
                self.guest.status = int(words.split()[1])
                self.guest.ended.set()
                continue
            if not words:
                continue
            process = self.guest.processes
            try:
                answer = ("ok " + (self.answer(words) or "")).rstrip()
            except (OSError, ValueError, LookupError, TypeError) as error:
                answer = "error " + str(error).replace("\n", " ")
            if self.guest.processes != process:
                line.close()
                line = self.open_line()
                if line is None:
                    return
            line.write(answer.encode() + b"\n")

    def qmp(self, command):
        return self.guest.qmp.run(command)

    def get(self, name, device):
        """A property, or one of the model's counters by its short name."""
        if self.serves(device):
            return self.guest.server.get(name)

        def read(name):
            return self.qmp({"execute": "qom-get", "arguments": {"path": device, "property": name}})

        try:
            return read(name)
        except ValueError:
            try:
                return read("counter-" + name)
            except ValueError:
                pass
            raise

    def get_once_at_least(self, name, least, device, seconds=0.5, pause=0.002):
        """A counter, once it is so high, or as it is when the seconds are over. The guest sleeps
        meanwhile, which costs less than if it asked again and again."""
        end = time.monotonic() + seconds
        while (value := self.get(name, device)) < least and time.monotonic() < end:
            time.sleep(pause)
        return value

    def serves(self, device):
        """Whether the adapter of that name is in a process of its own."""
        return self.guest.server is not None and device == "hca0"

    def adapter_at_the_end(self, seconds=10):
        """What the adapter tells of itself while the guest hangs: its counters that are not zero,
        and the last of its explanations. QEMU may hang, too: nobody waits for it for ever."""
        told = []

        def read():
            try:
                counted = self.get("counters", "hca0")
                told.extend(f"{name} {value}" for name, value in sorted(counted.items()) if value)
                told.extend(self.get("explanations", "hca0")[-20:])
            except (OSError, ValueError, AttributeError) as error:
                told.append(f"the adapter tells nothing: {error}")

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        reader.join(seconds)
        return list(told) or ["QEMU does not answer"]

    def bare(self, what, rest=""):
        """The machine without an operating system at the other end of the cable."""
        machine = self.guest.bare_machine()
        try:
            if what == "answer":
                return machine.answer(rest)
            if what == "address":
                return machine.address(rest)
            if what == "until":
                return machine.until(rest).string
            if what == "set":
                name, _, value = rest.partition(" ")
                return machine.set(name, value)
            if what == "get":
                return str(machine.get(rest))
            if what == "passed":
                return machine.end_well()
        except AssertionError as error:
            raise ValueError(error) from error
        raise ValueError(f"no command bare {what}")

    def switch(self, what):
        """The switch that the hosts' cables lead to."""
        switch = self.guest.switch
        if switch is None:
            raise ValueError("no switch is there: --switch")
        if what == "kill":
            switch.kill()
        elif what == "stop":
            if not switch.stop():
                raise ValueError("freehca-switch did not end as it was asked to")
        elif what == "start":
            switch.start()
        else:
            raise ValueError(f"no command switch {what}")
        return ""

    def cable(self, plugged):
        """That of port 1 to the other guest of a pair, or to the switch."""
        if self.guest.server:
            self.guest.server.set("cable1", plugged)
            return
        link = {"name": "wire", "up": plugged}
        self.qmp({"execute": "set_link", "arguments": link})

    def answer(self, words):
        command, _, rest = words.partition(" ")
        if command == "get":
            value = self.get(*(rest.split() + ["hca0"])[:2])
            return value if isinstance(value, str) else json.dumps(value)
        if command == "reach":
            name, least, device = (rest.split() + ["hca0"])[:3]
            return str(self.get_once_at_least(name, int(least), device))
        if command == "set":
            name, value, device = (rest.split() + ["hca0"])[:3]
            try:
                value = json.loads(value)
            except ValueError:
                pass
            if self.serves(device):
                self.guest.server.set(name, value)
                return ""
            self.qmp(
                {
                    "execute": "qom-set",
                    "arguments": {"path": device, "property": name, "value": value},
                }
            )
            return ""
        if command == "qmp":
            return json.dumps(self.qmp(json.loads(rest)))
        if command == "sync":
            if not self.rendezvous.meet(rest):
                raise ValueError("the other guest did not come")
            return ""
        if command == "cable":
            self.cable({"on": True, "off": False}[rest])
            return ""
        if command == "kill":
            self.guest.kill()
            return ""
        if command == "move":
            return f"{self.guest.move(rest):.3f}"
        if words == "adapter kill":
            self.guest.server.kill_adapter()
            return ""
        if words == "adapter upgrade":
            return self.guest.server.upgrade()
        if command == "switch":
            return self.switch(rest)
        if command == "bare":
            return self.bare(*rest.split(" ", 1))
        raise ValueError(f"no command {command}")
