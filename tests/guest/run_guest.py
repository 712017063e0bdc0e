#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""run_guest.py: boots one test guest, or a pair, runs the script inside and returns its exit
status.

Status 124: it took longer than the timeout. Status 125: the guest ended, or could not start,
without giving a status. Called by guest.sh, which sees to QEMU and the image.
"""
import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tests", "bare"))

import extra_files
import pairs
from cable_switch import CableSwitch
from control import Control, Qmp, Rendezvous
from device_server import DeviceServer
from moves import KINDS

TIMED_OUT, NO_STATUS = 124, 125
KERNEL_WORDS = (
    "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check "
    "cryptomgr.notests log_buf_len=4M rdinit=/init"
)


class Guest:
    def __init__(self, index, options, scratch, rendezvous, switch=None):
        self.index = index
        self.switch = switch
        self.options = options
        self.scratch = scratch
        self.folder = os.path.join(scratch, f"guest{index}")
        os.makedirs(self.folder)
        self.log = options.log if options.hosts == 1 else f"{options.log}.{index}"
        self.status = None
        self.last_words = []  # of the adapter, where the guest took too long
        self.ended = threading.Event()
        self.process = None
        self.started = []  # the QEMUs so far
        self.qmp_link = None
        self.reader = None
        self.bare = None
        self.server = None
        if options.device_server and options.device:
            self.server = DeviceServer(
                options.device_server, self.device(), self.folder, options.memory
            )
        self.rendezvous = rendezvous
        self.control = None
        self.boots = 0
        self.killed = False  # as it asked to be; it boots once more
        self.moves = 0  # from one QEMU to the next
        self.moving = False
        self.processes = 0  # of QEMU, so far
        self.initrd_path = None

    def initrd(self):
        """The cached archives, and one made for this run, in one file."""
        options = self.options
        settings = {
            "GUEST_DRIVER": options.driver,
            "HOST_INDEX": self.index,
            "HOST_COUNT": options.hosts,
            "HOST_BOOTS": self.boots,
        }
        if not options.script and sys.stdout.isatty():
            settings["GUEST_COLUMNS"], settings["GUEST_ROWS"] = os.get_terminal_size(
                sys.stdout.fileno()
            )
        text = "".join(
            f"export {name}={shlex.quote(str(value))}\n" for name, value in settings.items()
        )
        text += "".join(f"export {shlex.quote(assignment)}\n" for assignment in options.env)
        path = os.path.join(self.folder, "initrd")
        with open(path, "wb") as file:
            for archive in (*(f"{tools}/tools.cpio" for tools in options.tools), options.modules):
                with open(archive, "rb") as source:
                    shutil.copyfileobj(source, file)
            extra_files.write(file, options, text)
        return path

    def socket(self, name):
        """Of the QEMU that runs now. In a move there are two of them."""
        return os.path.join(self.folder, f"{name}{self.processes}")

    def command(self):
        options = self.options
        # The clock of a server in a process of its own is the host's.
        virtual = options.virtual_time and not self.server
        smp = options.smp or (1 if options.hosts > 1 or options.icount or virtual else 2)
        command = [
            options.qemu,
            "-M",
            "q35",
            "-cpu",
            options.cpu,
            "-m",
            options.memory,
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
            "-L",
            "/usr/share/seabios",
            "-L",
            "/usr/share/qemu",
        ]
        if options.icount or virtual:
            # With the shift of --virtual-time an instruction takes 64 ns: a program that polls for
            # a minute of the guest's time is done after a billion of them, not after sixty.
            command += [
                "-smp",
                str(smp),
                "-accel",
                "tcg,thread=single",
                "-icount",
                f"shift={0 if options.icount else 6},sleep=off",
            ]
        else:
            command += ["-smp", str(smp), "-accel", "tcg,thread=multi"]
        if not options.no_iommu:
            # The IOMMU first: devices that stand before it are not behind it.
            # What the guest maps reaches a server in another process in this mode alone.
            caching = ",caching-mode=on" if self.server else ""
            command += ["-device", "intel-iommu,intremap=on" + caching]
        command += [
            "-kernel",
            options.kernel,
            "-initrd",
            self.initrd_path,
            "-append",
            " ".join([KERNEL_WORDS, *options.append]),
        ]
        for name, backend in (
            ("kernel", f"file,path={self.log},append=on"),
            ("output", "stdio,signal=off"),
            ("control", f"socket,path={self.socket('control')},server=on,wait=off"),
        ):
            command += ["-chardev", f"{backend},id={name}", "-serial", f"chardev:{name}"]
        command += ["-qmp", f"unix:{self.socket('qmp')},server=on,wait=off"]
        if self.server:
            return command + options.qemu_arguments + self.server.qemu_arguments()
        if options.hosts > 1 or options.bare or self.switch:
            server = not self.switch.listens if self.switch else self.index == 1
            role = "on" if server else "off"
            command += [
                "-netdev",
                f"stream,id=wire,server={role},addr.type=unix,addr.path={self.wire()}",
            ]
        if options.lan:
            role = "on" if self.index == 1 else "off"
            backend = f"stream,id=lan,server={role},addr.type=unix,addr.path={self.scratch}/lan"
            command += ["-netdev", backend, "-device", self.network_card()]
        if options.device:
            command += ["-device", self.device() + self.cable() + ",id=hca0"]
        if options.adapters == 2:
            command += self.second_adapter()
        return command + options.qemu_arguments

    def network_card(self):
        return f"virtio-net-pci,netdev=lan,mac=52:54:00:00:08:0{self.index},romfile="

    def second_adapter(self):
        """Like the first one, with a port of the switch of its own. There is one host."""
        wire = self.switch.wire(2)
        backend = f"stream,id=wire2,server=on,addr.type=unix,addr.path={wire}"
        device = self.options.device + self.own_guid(2) + ",netdev1=wire2,id=hca1"
        return ["-netdev", backend, "-device", device]

    def device(self):
        own = self.options.device + self.own_guid()
        return re.sub(r"\bHOST\b", str(self.index), own)

    def wire(self):
        return self.switch.wire(self.index) if self.switch else os.path.join(self.scratch, "wire")

    def bare_machine(self):
        """The machine at the other end of the cable, which boots when it is first asked for."""
        if not self.options.bare:
            raise ValueError("no machine is there: --bare")
        if self.bare is None:
            architecture, *more = self.options.bare
            self.bare = pairs.Machine(self.options.qemu, architecture, self.wire(), 2, *more)
            self.bare.limit_seconds = self.options.timeout or self.bare.limit_seconds
            self.bare.start(typed=True)
        return self.bare

    def is_cabled(self):
        """Two hosts, or one and a bare machine: port 1 of the one adapter is cabled to port 1 of
        the other. With a switch each is cabled to that."""
        joined = self.options.hosts > 1 or self.options.bare or self.switch
        return bool(joined and self.options.device.startswith("mlx4"))

    def own_guid(self, number=None):
        if not self.is_cabled() or "guid=" in self.options.device:
            return ""
        return f",guid=0x0002c90300f0c{9 + (number or self.index):x}00"

    def cable(self):
        """No cable to the wire if the device has another one, such as a hub that has the wire."""
        wanted = self.is_cabled() and "netdev1=" not in self.options.device
        named = wanted and self.switch and self.switch.listens
        return (",netdev1=wire" if wanted else "") + (f",name1=host{self.index}" if named else "")

    def start(self):
        if self.server:
            if self.is_cabled():
                end = "listen" if self.index == 1 or self.switch else "connect"
                self.server.wire = f"{end}={self.wire()}"
            self.server.start()
        self.boot()

    def boot(self):
        self.boots += 1
        self.killed = False
        self.control = Control(self, self.rendezvous)
        self.initrd_path = self.initrd()
        open(self.log, "w", encoding="utf-8").close()
        self.start_process([])
        self.control.start()

    def start_process(self, more):
        """A QEMU, with `more` arguments. The guest is this one's from now on."""
        self.processes += 1
        self.qmp_link = None
        command = self.command() + more
        if self.options.verbose:
            print(shlex.join(command), file=sys.stderr)
        if self.options.script:
            # A group of its own: an interrupt from the terminal is for us, and we end the guest.
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
            )
            self.reader = threading.Thread(
                target=self.copy_output, args=(self.process,), daemon=True
            )
            self.reader.start()
        else:
            self.process = subprocess.Popen(command)
        self.started.append(self.process)

    def end_process(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()

    @property
    def qmp(self):
        """The monitor of the QEMU that runs now."""
        if not self.qmp_link:
            process = self.process
            self.qmp_link = Qmp(self.socket("qmp"), lambda: process.poll() is None)
        return self.qmp_link

    def move(self, kind):
        """To another QEMU. Returns for how many seconds the guest stood still."""
        if kind not in KINDS:
            raise ValueError(
                f"no way to move a guest is called {kind}; there are: {', '.join(KINDS)}"
            )
        if self.server or not self.options.script:
            raise ValueError("a guest moves with its adapter in QEMU, and with a script")
        before = self.process, self.processes, self.reader, self.qmp
        self.moving = True
        self.moves += 1
        try:
            return KINDS[kind](self).run()
        except (OSError, ValueError):
            if before[0].poll() is None:
                if self.process is not before[0]:
                    self.end_process()
                self.process, self.processes, self.reader, self.qmp_link = before
                self.qmp.run({"execute": "cont"})
            raise
        finally:
            self.moving = False

    def copy_output(self, process):
        prefix = f"host{self.index}| ".encode() if self.options.hosts > 1 else b""
        for line in process.stdout:
            sys.stdout.buffer.write(prefix + line.replace(b"\r", b""))
            sys.stdout.buffer.flush()

    def kill(self):
        """QEMU ends without a word to anybody, and the guest boots once more."""
        self.killed = True
        self.process.kill()

    def finish(self, deadline):
        """Waits until QEMU ends; a guest that gave its status gets a few seconds for powering
        off."""
        while self.moving or self.process.poll() is None:
            now = time.monotonic()
            if deadline is not None and now > deadline:
                if self.status is None:
                    self.status = TIMED_OUT
                    self.last_words = self.control.adapter_at_the_end()
                break
            if (
                self.ended.is_set()
                and deadline is None
                or self.ended.is_set()
                and deadline > now + 15
            ):
                deadline = now + 15
            time.sleep(0.02)
            if self.killed and self.process.poll() is not None:
                self.control.drain()
                self.boot()
        self.stop()
        self.control.drain()
        return NO_STATUS if self.status is None else self.status

    def stop(self):
        # In a move that does not end there are two.
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
        if self.reader:
            self.reader.join(5)
        if self.bare:
            self.bare.finish()
        if self.server:
            self.server.stop()


def bare_words(text):
    """ARCHITECTURE[,IMAGE[,PROPERTY]...] as a list."""
    words = text.split(",")
    if words[0] != "x86_64":
        raise argparse.ArgumentTypeError(f"{words[0]}: only x86_64 is at the end of a cable")
    return words


def parse():
    parser = argparse.ArgumentParser()
    for name in ("qemu", "kernel", "modules", "log"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument(
        "--tools",
        action="append",
        required=True,
        help="a folder with a part of the user space: tools.cpio, and files.txt with the names in it",
    )
    parser.add_argument(
        "--allowed", action="append", required=True, help="a file: lines of the kernel's log"
    )
    parser.add_argument("--script")
    parser.add_argument("--driver", default="none")
    parser.add_argument("--device", default="")
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--bare", type=bare_words)
    parser.add_argument("--device-server")
    parser.add_argument("--switch")
    parser.add_argument("--adapters", type=int, default=1)
    parser.add_argument("--lan", action="store_true")
    parser.add_argument("--timeout", type=float, default=0)
    parser.add_argument("--memory", default="512M")
    parser.add_argument("--cpu", default="Nehalem")
    parser.add_argument("--smp", type=int, default=0)
    parser.add_argument("--no-iommu", action="store_true")
    parser.add_argument("--icount", action="store_true")
    parser.add_argument("--virtual-time", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    for name in ("file", "append", "env"):
        parser.add_argument("--" + name, action="append", default=[])
    parser.add_argument("qemu_arguments", nargs="*")
    return parser.parse_args()


def explain(guest, status):
    if status == TIMED_OUT:
        print(f"guest: not done after {guest.options.timeout:g} s, ended", file=sys.stderr)
        for line in guest.last_words:
            print("        | " + line, file=sys.stderr)
    elif status == NO_STATUS:
        print(
            f"guest: QEMU ended (status {guest.process.returncode}) and the guest gave no status",
            file=sys.stderr,
        )
    if status in (TIMED_OUT, NO_STATUS):
        print(f"guest: the end of its kernel's log, {guest.log}:", file=sys.stderr)
        with open(guest.log, encoding="utf-8", errors="replace") as file:
            for line in file.read().splitlines()[-10:]:
                print("        | " + line, file=sys.stderr)


def main():
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    scratch = tempfile.mkdtemp(prefix="freehca-guest-")
    rendezvous = Rendezvous(options.hosts)
    ends = options.hosts * options.adapters
    switch = CableSwitch(options.switch, scratch, ends) if options.switch else None
    guests = [
        Guest(index, options, scratch, rendezvous, switch) for index in range(1, options.hosts + 1)
    ]
    switch_ended_well = True
    try:
        if switch:
            switch.start()
        deadline = time.monotonic() + options.timeout if options.timeout > 0 else None
        for guest in guests:
            guest.start()
            # The second guest's end of a stream connects once, when it starts.
            streams = [*([] if switch else ["wire"]), *(["lan"] if options.lan else [])]
            while (
                guest.index < options.hosts
                and guest.process.poll() is None
                and not all(os.path.exists(os.path.join(scratch, name)) for name in streams)
            ):
                time.sleep(0.02)
        statuses = [guest.finish(deadline) for guest in guests]
        for guest in guests:
            if any(statuses) and guest.server:
                print(f"guest: what freehca-device of host {guest.index} said:")
                print(guest.server.last_words())
        if switch:
            if any(statuses):
                print("guest: the last words of freehca-switch:", *switch.last_words(), sep="\n")
            switch_ended_well = switch.stop()
    except KeyboardInterrupt:
        return 130
    finally:
        for guest in guests:
            guest.stop()
        if switch:
            switch.stop()
        shutil.rmtree(scratch, ignore_errors=True)
    for guest, status in zip(guests, statuses):
        explain(guest, status)
    if not switch_ended_well:
        print("guest: freehca-switch did not end as it was asked to", file=sys.stderr)
        return NO_STATUS
    return next((status for status in statuses if status), 0)


if __name__ == "__main__":
    sys.exit(main())
