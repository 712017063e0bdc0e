# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Machines on a cable, and what a user does at their serial lines. The image `pingpong_pair` is at
both ends of an InfiniBand cable: the user reads the address that one machine prints, and types it
in at the other. A machine with another image is at one end alone."""
import os
import re
import tempfile

from cases import QUIET
import machines

IMAGE = "pingpong_pair"
ADDRESS = re.compile(r"^address +([0-9a-f]{4}:[0-9a-f]{6}:[0-9a-f]{6}:0{32})$")


class Machine(machines.Run):
    """One end of the cable. It is told to be the first end or the second, and has the LID that it
    is given there."""

    def __init__(self, qemu, architecture, wire, end, image=IMAGE, *properties):
        kind = next(iter(machines.MACHINES[architecture].values()))
        role = "on" if end == 1 else "off"
        cable = f"stream,id=wire,server={role},addr.type=unix,addr.path={wire}"
        guid = f"guid=0002:c903:00f0:c{9 + end:x}00"
        adapter = ",".join(("mlx4,id=hca0,netdev1=wire", guid, *properties))
        super().__init__(
            kind,
            qemu,
            machines.image_file(architecture, image),
            ("-netdev", cable, "-device", adapter),
        )
        self.end, self.image = end, image

    def until(self, pattern):
        """Reads up to a line that has the pattern; the match."""
        while (line := self.line()) is not None:
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"no line like {pattern!r}:\n" + "\n".join(self.lines))

    def answer(self, line):
        """When it asks."""
        self.until("^ask ")
        self.say(line)
        self.until(f"^line +{line}$")

    def address(self, service):
        self.answer(service)
        return self.until(ADDRESS).group(1)

    def end_well(self):
        """Returns the line with the image's size."""
        if self.image == IMAGE:
            self.until("^ask ")
        self.say("end")
        self.until(QUIET)
        self.until(f"^{self.image}: passed$")
        self.finish()
        # The model complains of what a real card would have to suffer silently.
        if not self.passed or self.errors != "":
            raise AssertionError(f"status {self.status}, {self.errors}")
        return next(line for line in self.lines if line.startswith("image "))


class Cable:
    """Machines of architectures as given, two or one alone, while the block runs."""

    def __init__(self, qemus, *architectures):
        self.qemus, self.architectures = qemus, architectures

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="freehca-cable-")
        wire = os.path.join(self.folder.name, "wire")
        self.ends = []
        for end, architecture in enumerate(self.architectures, 1):
            machine = Machine(self.qemus[architecture], architecture, wire, end)
            self.ends.append(machine)
            machine.start(typed=True)
            # The first end's QEMU listens before the image's first line.
            machine.until("^freehca ")
        return self.ends

    def __exit__(self, *_):
        for machine in self.ends:
            machine.finish()
        self.folder.cleanup()


def play(server, client, service, size, count):
    """One session; both sides' lines of it."""
    to_server, to_client = server.address(service), client.address(service)
    server.answer(f"server {size} {count} {to_client}")
    server.until("^ready ")
    client.answer(f"client {size} {count} {to_server}")
    line = rf"^{service.upper()} +{count} messages of {size} bytes each way verified"
    return [side.until(line).string for side in (client, server)]
