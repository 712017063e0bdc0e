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
# Nothing in an image waits for longer than a minute at a time.
LIMIT_SECONDS = 150


class Kind:
    """One of QEMU's machines: how it is started, the exit status by which an image that passed ends
    it, and whether it has interrupts for the image."""

    def __init__(self, architecture, machine, *arguments, passed=0, interrupts=True):
        self.architecture, self.machine, self.passed = architecture, machine, passed
        self.interrupts = interrupts
        self.arguments = ("-M", machine, *arguments)


# By architecture, and the first one of each is its usual one.
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
    "riscv64": {
        "virt": Kind("riscv64", "virt,aia=aplic-imsic", "-bios", "none", "-smp", "2"),
        "virt_plic": Kind("riscv64", "virt", "-bios", "none", interrupts=False),
    },
}
ADAPTER = ("-device", "mlx4,id=hca0")
BEHIND_A_PORT = ("-device", "pcie-root-port,id=port0", "-device", "mlx4,id=hca0,bus=port0")


def image_file(architecture, image):
    return ROOT / f"build/bare-{architecture}/images/{image}.elf"


class Run:
    """A machine that runs an image: what came from its serial line, and how it ended."""

    def __init__(self, kind, qemu, image, arguments=ADAPTER, words="", memory="256M"):
        self.kind, self.lines, self.status, self.errors = kind, [], None, ""
        self.folder = tempfile.TemporaryDirectory(prefix="freehca-bare-")
        self.monitor_path = os.path.join(self.folder.name, "qmp")
        self.command = [qemu, *FIRMWARE, *COMMON, *kind.arguments, "-m", memory]
        self.command += ["-qmp", f"unix:{self.monitor_path},server=on,wait=off"]
        self.command += ["-kernel", str(image), *arguments]
        if words:
            self.command += ["-append", words]

    def run(self, at_line=None):
        """Until it ends. at_line(self, line) is told of each line when it comes."""
        began = time.monotonic()
        process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        watch = threading.Timer(LIMIT_SECONDS, process.kill)
        watch.start()
        errors = []
        reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
        reader.start()
        try:
            for line in process.stdout:
                self.lines.append(line.rstrip())
                if at_line is not None:
                    at_line(self, self.lines[-1])
            self.status = process.wait()
        finally:
            watch.cancel()
            process.kill()
            process.wait()
            reader.join()
            process.stdout.close()
            process.stderr.close()
            self.folder.cleanup()
        self.errors = errors[0]
        self.seconds = time.monotonic() - began
        return self

    def set(self, name, value):
        """A property of the adapter, while the machine runs."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(30)
            monitor.connect(self.monitor_path)
            with monitor.makefile("rw", encoding="utf-8") as file:
                file.readline()
                path = "/machine/peripheral/hca0"
                arguments = {"path": path, "property": name, "value": value}
                for request in (
                    {"execute": "qmp_capabilities"},
                    {"execute": "qom-set", "arguments": arguments},
                ):
                    file.write(json.dumps(request) + "\n")
                    file.flush()
                    answer = json.loads(file.readline())
                    while "event" in answer:
                        answer = json.loads(file.readline())
                    if "error" in answer:
                        raise RuntimeError(f"{request}: {answer['error']['desc']}")

    @property
    def passed(self):
        return self.status == self.kind.passed
