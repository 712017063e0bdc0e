#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""ipxe.py QEMU IMAGE VARIANT RECORDING: what make.sh records of iPXE: a port is opened, IPoIB joins
the broadcast group and sends into it, and the port is closed. Prints what iPXE says of itself
meanwhile (ibstat, ifstat): the test compares the recording with that."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "qom"))
import machine as qemu  # noqa: E402
from ipxe import Ipxe  # noqa: E402

# DHCP sends what it begins with, and hears no answer.
SCRIPT = """
echo ready
prompt --key a step 0
echo begin 1
ifopen net0 || goto broken
:open
ibstat
ifstat net0
prompt --key b --timeout 1000 step 1 || goto open
echo begin 2
dhcp net0 ||
ifclose net0
ifstat net0
prompt --key c step 2
:broken
echo broken
prompt --key c
"""


def main():
    qemu.BINARY, image, variant, recording = sys.argv[1:]
    label = f"iPXE of Debian's {os.path.basename(os.path.dirname(image))} in QEMU"
    with Ipxe(
        image,
        SCRIPT,
        "-device",
        f"mlx4,id=hca0,variant={variant},x-record={recording},x-record-label={label}",
    ) as machine:
        machine.wait_for("ready", "step 0")
        machine.press("a")
        up = machine.wait_for(
            "step 1",
            r"\[Link:up LID",
            r"net0: [^\[]*(\(open\)|\[open\])\s+\[Link:up",
            after="begin 1",
        )
        machine.press("b")
        down = machine.wait_for("step 2", r"net0: [^\[]*(\(closed\)|\[closed\])", after="begin 2")
        for name in ("complaints", "commands_failed", "eqes_dropped"):
            if machine.get("counter-" + name) != 0:
                sys.exit(f"ipxe.py: {name}: {machine.get('counter-' + name)}")
        machine.qmp("quit")
        machine.process.wait()
    # The last look alone: ones before it found the port still coming up.
    for name, text in (("up", up[up.rindex("inf0:") :]), ("down", down)):
        print("\n".join(f"{name}: {line}".rstrip() for line in text.splitlines() if line.strip()))


if __name__ == "__main__":
    main()
