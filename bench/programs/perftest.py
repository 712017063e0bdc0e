# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Debian's perftest and rdma-core's ibv_devinfo on the face."""
import os
import re
import subprocess

import processes


def on_face(run, fabric, command):
    return [run, "--fabric", fabric, "--", *command]


def last_row(text):
    """The last row of figures that a program of perftest printed. The fifth is the typical latency
    in microseconds (t_typical), or the rate in millions of messages a second (MsgRate)."""
    lines = text.splitlines()
    head = max(number for number, line in enumerate(lines) if line.lstrip().startswith("#bytes"))
    return list(map(float, lines[head + 1].split()))


def measure(run, program, size, iterations):
    """(typical microseconds or millions of messages a second, MTU) between two processes."""
    port = processes.free_port()
    options = ["-F", "-p", port, "-s", size, "-n", iterations]
    # Two processes of one fabric, which no other process is on.
    fabric = f"bench-{os.getpid()}"
    server, client = (
        on_face(run, fabric, [program, *options, *peer]) for peer in ([], ["localhost"])
    )
    text = processes.pair(server, client, port)
    return last_row(text)[4], int(re.search(r"Mtu\s*:\s*(\d+)", text).group(1))


def part(run):
    """(part id, the device's name), as ibv_devinfo tells them."""
    command = on_face(run, f"bench-{os.getpid()}", ["ibv_devinfo"])
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return tuple(
        re.search(rf"{name}:\s*(\S+)", text).group(1) for name in ("vendor_part_id", "hca_id")
    )
