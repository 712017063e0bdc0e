# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The machines that bare-metal images are booted on, and how one is run."""
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRMWARE = ("-L", "/usr/share/seabios", "-L", "/usr/share/qemu")
COMMON = ("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio")
# It ends a machine that hangs. Nothing in an image waits for longer than a minute at a time, but
# other tests run beside it.
LIMIT_SECONDS = 500


class Kind:
    """One of QEMU's machines: how it is started, the exit status by which an image that passed ends
    it, and whether it has interrupts for the image. raw: it is given the file that is no ELF. port:
    the bridge that the adapter is put behind. virtual_time: it runs with a virtual clock too."""

    def __init__(
        self,
        architecture,
        machine,
        *arguments,
        passed=0,
        interrupts=True,
        raw=False,
        port="pcie-root-port",
        virtual_time=True,
    ):
        self.architecture, self.machine, self.passed = architecture, machine, passed
        self.interrupts, self.raw, self.virtual_time = interrupts, raw, virtual_time
        self.arguments = ("-M", machine, *arguments)
        behind = ("-device", f"{port},id=port0", "-device", "mlx4,id=hca0,bus=port0")
        self.adapter_behind_a_port = behind


# By architecture or board, and the first one of each is its usual one.
MACHINES = {
    "x86_64": {
        "q35": Kind("x86_64", "q35", "-device", "isa-debug-exit", passed=33),
        "microvm": Kind("x86_64", "microvm,pcie=on", "-device", "isa-debug-exit", passed=33),
    },
    "aarch64": {
        "virt": Kind("aarch64", "virt", "-cpu", "cortex-a57", "-semihosting"),
        "virt_el2": Kind(
            "aarch64", "virt,virtualization=on", "-cpu", "cortex-a72", "-smp", "2", "-semihosting"
        ),
        "virt_gicv3": Kind(
            "aarch64", "virt,virtualization=on,gic-version=3", "-cpu", "max", "-semihosting"
        ),
    },
    # Built with FREEHCA_INCOHERENT_DMA.
    "aarch64-incoherent": {
        "virt": Kind("aarch64-incoherent", "virt", "-cpu", "cortex-a57", "-semihosting"),
    },
    # The skeleton of a port, with this machine's serial line and nothing else of it.
    "aarch64-skeleton": {
        "virt": Kind("aarch64-skeleton", "virt", "-cpu", "cortex-a57", "-semihosting"),
    },
    # Known by constants, and no firmware: it takes no messages in QEMU 7.2, where QEMU refuses its
    # own root port. With -icount its images do not end.
    "aarch64-sbsa-ref": {
        "sbsa-ref": Kind(
            "aarch64-sbsa-ref",
            "sbsa-ref",
            "-semihosting",
            raw=True,
            interrupts=False,
            port="pci-bridge,chassis_nr=1,shpc=off",
            virtual_time=False,
        ),
    },
    "riscv64": {
        "virt": Kind("riscv64", "virt,aia=aplic-imsic", "-bios", "none", "-smp", "2"),
        "virt_plic": Kind("riscv64", "virt", "-bios", "none", interrupts=False),
    },
}
ADAPTER = ("-device", "mlx4,id=hca0")


def ethernet_adapter(host_port, *more):
    """Port 1 is on QEMU's user network, whose TCP connections the host offers as its own:
    connections to `host_port` of the host go to port 80 of the machine. `more`: properties."""
    forward = f"user,id=wire,hostfwd=tcp:127.0.0.1:{host_port}-:80"
    device = ",".join(("mlx4,id=hca0,link1=eth,netdev1=wire", *more))
    return "-netdev", forward, "-device", device


# What ./dev bare boots an image with.
ADAPTERS = {"web": ethernet_adapter(8080)}


def tool(architecture, name):
    """Of the compiler that images of an architecture are built with."""
    return name if architecture == "x86_64" else f"{architecture}-linux-gnu-{name}"


def image_file(architecture, image):
    return ROOT / f"build/bare-{architecture}/images/{image}.elf"


class Run:
    """A machine that runs an image: what came from its serial line, and how it ended."""

    def __init__(
        self, kind, qemu, image, arguments=ADAPTER, words="", memory="256M", icount_shift=None
    ):
        """`icount_shift`: the machine's clock counts instructions, and one takes 2^icount_shift ns.
        A second of polling then costs little processor time. None: the host's clock."""
        self.kind, self.status, self.errors = kind, None, ""
        self.limit_seconds = LIMIT_SECONDS
        self.lines, self.times = [], []  # a time for each line, in seconds
        self.folder = tempfile.TemporaryDirectory(prefix="freehca-bare-")
        self.monitor_path = os.path.join(self.folder.name, "qmp")
        self.command = [qemu, *FIRMWARE, *COMMON, *kind.arguments, "-m", memory]
        self.command += ["-qmp", f"unix:{self.monitor_path},server=on,wait=off"]
        file = pathlib.Path(image).with_suffix(".bin") if kind.raw else image
        self.command += ["-kernel", str(file), *arguments]
        if words:
            self.command += ["-append", words]
        if icount_shift is not None and kind.virtual_time:
            self.command += ["-icount", f"shift={icount_shift},sleep=off"]

    def start(self, typed=False, by_hand=False):
        """`typed`: say() gives it lines. `by_hand`: this program's standard input does, and it may
        take as long as it likes."""
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            stdin=None if by_hand else subprocess.PIPE if typed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        self.watch = threading.Timer(self.limit_seconds, self.process.kill)
        if not by_hand:
            self.watch.start()
        self.error_texts = []
        self.reader = threading.Thread(
            target=lambda: self.error_texts.append(self.process.stderr.read())
        )
        self.reader.start()

    def line(self):
        """The next one; None: there are no more."""
        line = self.process.stdout.readline()
        if not line:
            return None
        self.lines.append(line.rstrip())
        self.times.append(time.monotonic())
        return self.lines[-1]

    def say(self, line):
        """To the image, by the serial line. Only while it asks for one: it does not listen else."""
        self.process.stdin.write(line + "\r")
        self.process.stdin.flush()

    def finish(self):
        """Waits for its end if all of its lines were read, else ends it. Once is enough."""
        if self.process.stdout.closed:
            return
        try:
            if self.line() is None:
                self.status = self.process.wait()
        finally:
            self.watch.cancel()
            self.process.kill()
            self.process.wait()
            self.reader.join()
            for file in (self.process.stdin, self.process.stdout, self.process.stderr):
                if file is not None:
                    file.close()
            self.folder.cleanup()
        self.errors = self.error_texts[0]
        self.seconds = time.monotonic() - self.began

    def run(self, at_line=None, by_hand=False):
        """Until it ends. at_line(self, line) is told of each line when it comes."""
        self.start(by_hand=by_hand)
        try:
            while (line := self.line()) is not None:
                if at_line is not None:
                    at_line(self, line)
        finally:
            self.finish()
        return self

    def set(self, name, value):
        """A property of the adapter, while the machine runs."""
        self.monitor("qom-set", path="/machine/peripheral/hca0", property=name, value=value)

    def get(self, name):
        return self.monitor("qom-get", path="/machine/peripheral/hca0", property=name)

    def monitor(self, command, **arguments):
        """A command of QMP; its answer."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(30)
            monitor.connect(self.monitor_path)
            with monitor.makefile("rw", encoding="utf-8") as file:
                file.readline()
                for request in (
                    {"execute": "qmp_capabilities"},
                    {"execute": command, "arguments": arguments},
                ):
                    file.write(json.dumps(request) + "\n")
                    file.flush()
                    answer = json.loads(file.readline())
                    while "event" in answer:
                        answer = json.loads(file.readline())
                    if "error" in answer:
                        raise RuntimeError(f"{request}: {answer['error']['desc']}")
                return answer["return"]

    @property
    def passed(self):
        return self.status == self.kind.passed
