# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""A QEMU machine without a processor: the test is the guest. QEMU's qtest protocol gives port I/O,
memory and the virtual clock; QMP gives the monitor."""
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time

BINARY = None  # set by the program
FIRMWARE = ("-L", "/usr/share/seabios", "-L", "/usr/share/qemu")
BASE = ("-M", "q35", "-nodefaults", "-no-user-config", "-display", "none", "-m", "256M")


class QemuRefused(Exception):
    """QEMU ended before the test began; the text is what it wrote to its standard error."""


class Line:
    """One of QEMU's text sockets."""

    def __init__(self, path, process):
        deadline = time.monotonic() + 30
        self.socket = socket.socket(socket.AF_UNIX)
        self.rest = b""
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    self.close()
                    raise
                time.sleep(0.01)
        self.socket.settimeout(30)

    def send(self, text):
        self.socket.sendall(text.encode() + b"\n")

    def receive(self):
        while b"\n" not in self.rest:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("QEMU closed the line")
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def close(self):
        self.socket.close()


class Machine:
    """with Machine("-device", "mlx4,id=hca0") as machine: ..."""

    def __init__(self, *arguments):
        self.folder = tempfile.mkdtemp(prefix="freehca-qom-")
        self.command = [
            BINARY,
            *BASE,
            *FIRMWARE,
            "-accel",
            "qtest",
            "-qtest",
            f"unix:{self.folder}/qtest,server=on,wait=off",
            "-qmp",
            f"unix:{self.folder}/qmp,server=on,wait=off",
            "-qtest-log",
            "/dev/null",
            *arguments,
        ]
        self.process = self.qtest = self.monitor = None
        self.events = []
        self.errors = ""

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            self.monitor = Line(f"{self.folder}/qmp", self.process)
            self.monitor.receive()
            self.qmp("qmp_capabilities")
            self.qtest = Line(f"{self.folder}/qtest", self.process)
        except OSError:
            # It is about to end by itself, and to say why.
            self.finish(10)
            raise QemuRefused(self.errors) from None
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.finish(10)
        return False

    def finish(self, seconds):
        for line in (self.qtest, self.monitor):
            if line:
                line.close()
        try:
            self.errors = self.process.communicate(timeout=seconds)[1].decode()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.errors = self.process.communicate()[1].decode()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- The monitor

    def qmp(self, command, **arguments):
        """The answer. RuntimeError with QEMU's message."""
        self.monitor.send(json.dumps({"execute": command, "arguments": arguments}))
        while True:
            answer = json.loads(self.monitor.receive())
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise RuntimeError(answer["error"]["desc"])
            self.events.append(answer)

    def wait_event(self, name):
        """The data of the oldest event of this name; older ones are forgotten."""
        while True:
            message = self.events.pop(0) if self.events else json.loads(self.monitor.receive())
            if message.get("event") == name:
                return message.get("data", {})

    def get(self, name, device="hca0"):
        return self.qmp("qom-get", path=f"/machine/peripheral/{device}", property=name)

    def set(self, name, value, device="hca0"):
        return self.qmp("qom-set", path=f"/machine/peripheral/{device}", property=name, value=value)

    # ---- The bus

    def ask(self, *words):
        self.qtest.send(" ".join(str(word) for word in words))
        answer = self.qtest.receive().split()
        if answer[0] != "OK":
            raise RuntimeError(f"{words}: {answer}")
        return answer[1] if len(answer) > 1 else None

    def read(self, address, size=4):
        return int(self.ask("read" + {1: "b", 2: "w", 4: "l", 8: "q"}[size], hex(address)), 16)

    def write(self, address, value, size=4):
        self.ask("write" + {1: "b", 2: "w", 4: "l", 8: "q"}[size], hex(address), hex(value))

    def read_bytes(self, address, count):
        return bytes.fromhex(self.ask("read", hex(address), count)[2:])

    def write_bytes(self, address, data):
        self.ask("write", hex(address), len(data), "0x" + data.hex())

    def firmware_file(self, name):
        """What QEMU gives the machine's firmware under this name; None: nothing."""

        def read(key, count):
            self.ask("outw", "0x510", hex(key))
            return bytes(int(self.ask("inb", "0x511"), 16) for _ in range(count))

        directory_key = 0x19
        files = int.from_bytes(read(directory_key, 4), "big")
        directory = read(directory_key, 4 + 64 * files)[4:]
        for at in range(0, len(directory), 64):
            size, key, _, own_name = struct.unpack(">IHH56s", directory[at : at + 64])
            if own_name.rstrip(b"\0").decode() == name:
                return read(key, size)
        return None

    def step_clock(self, nanoseconds):
        self.ask("clock_step", nanoseconds)

    def function(self, slot=1, bus=0):
        return Function(self, slot, bus)


class Function:
    """A PCI function, through the ports 0xcf8 and 0xcfc (256 bytes) and, once open_window() was
    called, through the memory window that PCI Express gives (4096 bytes)."""

    WINDOW = 0xB0000000
    COMMAND, BAR0, BAR2 = 0x04, 0x10, 0x18

    def __init__(self, machine, slot, bus):
        self.machine, self.slot, self.bus = machine, slot, bus

    def open_window(self):
        """Sets PCIEXBAR of the q35's memory controller."""
        host = Function(self.machine, 0, 0)
        host.write(0x60, self.WINDOW | 1)
        host.write(0x64, 0)
        return self

    def extended(self, offset, size=4):
        return self.machine.read(self.WINDOW + (self.bus << 20) + (self.slot << 15) + offset, size)

    def write_extended(self, offset, value, size=4):
        self.machine.write(self.WINDOW + (self.bus << 20) + (self.slot << 15) + offset, value, size)

    def select(self, offset):
        self.machine.ask(
            "outl", "0xcf8", hex(0x80000000 | self.bus << 16 | self.slot << 11 | offset & 0xFC)
        )

    def read(self, offset, size=4):
        self.select(offset)
        port = hex(0xCFC + offset % 4)
        return int(self.machine.ask("in" + {1: "b", 2: "w", 4: "l"}[size], port), 16)

    def write(self, offset, value, size=4):
        self.select(offset)
        self.machine.ask(
            "out" + {1: "b", 2: "w", 4: "l"}[size], hex(0xCFC + offset % 4), hex(value)
        )

    def capabilities(self):
        """Pairs of offset and number, in the order of the chain."""
        found, at = [], self.read(0x34, 1)
        while at and len(found) < 48:
            found.append((at, self.read(at, 1)))
            at = self.read(at + 1, 1)
        return found

    def extended_capabilities(self):
        """Triples of offset, number and version, in the order of the chain."""
        found, at = [], 0x100
        while at and len(found) < 48:
            head = self.extended(at)
            found.append((at, head & 0xFFFF, head >> 16 & 0xF))
            at = head >> 20
        return found

    def enable(self, bar0=0xE0000000, bar2=0xE8000000, command=0x6):
        """Places the BARs and switches memory space and bus mastering on."""
        self.write(self.BAR0, bar0)
        self.write(self.BAR0 + 4, 0)
        self.write(self.BAR2, bar2)
        self.write(self.BAR2 + 4, 0)
        self.write(self.COMMAND, command, 2)
        return bar0, bar2
