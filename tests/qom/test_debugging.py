# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""docs/debugging.md shows what planted bugs of a driver look like: here each is planted, and what
the device says must be what stands on the page. To add a kind: a method of Planted, and a block on
the page for each view of it."""
import os
import re
import struct
import tempfile
import unittest

import wire
from firmware import (
    EQN,
    FIRST_MTT,
    MAP_EQ,
    MAP_FA,
    AREA,
    NOP,
    OUTPUT,
    QUERY_FW,
    SET_ICM_SIZE,
    SW2HW_EQ,
    Firmware,
    swap,
)
from machine import Machine

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "debugging.md")
SECOND_EQN, SECOND_BUFFER = EQN + 1, 0x203000
MTT = 0x1090000  # of firmware.py's bring-up
COMMAND_COMPLETION, EQ_OVERFLOW = 0x0A, 0x0F
INIT_PORT, SW2HW_CQ, RST2INIT_QP, INIT2RTR_QP, RTR2RTS_QP = 0x009, 0x016, 0x019, 0x01A, 0x01B
CQN, QPN, UAR_PAGE, SEND_DOORBELL = 0x88, 0x60, 128, 0x14
COMPLETIONS, SENDS, RECORDS = 0x204000, 0x205000, 0x206000


def log_in(folder):
    return os.path.join(folder, "log")


def cable_in(folder):
    return os.path.join(folder, "cable")


class Planted:
    """Wrong drivers. Each leaves what the device said in `views`, by name."""

    def __init__(self, machine, folder):
        self.machine, self.views = machine, {}
        self.log, self.cable = log_in(folder), cable_in(folder)
        self.bar0, self.bar2 = machine.function().enable()
        self.firmware = Firmware(machine, self.bar0)

    def watch(self):
        """From here on trace events are written."""
        self.machine.qmp("trace-event-set-state", name="mlx4_*", enable=True)

    def look(self, *objects):
        self.machine.qmp("trace-event-set-state", name="mlx4_*", enable=False)
        with open(self.log, encoding="utf-8") as file:
            self.views["trace"] = file.read().strip()
        self.views["explanations"] = "\n".join(self.machine.get("explanations"))
        for what in objects:
            self.machine.set("dump", what)
            self.views[f"dump {what}"] = self.machine.get("dump").strip()

    def refused(self):
        """Memory is lent, and the firmware is not started before it is asked for more."""
        self.watch()
        self.firmware.command(QUERY_FW, output=OUTPUT)
        self.firmware.map(MAP_FA, 0, AREA, 10)
        self.firmware.command(SET_ICM_SIZE, 1 << 30)
        self.look()

    def complaint(self):
        """A mailbox that is not aligned; the command goes well."""
        self.watch()
        self.firmware.command(QUERY_FW, output=OUTPUT + 8)
        self.look()

    def event(self):
        """An event queue of 64 entries whose consumer index is never told; a second one takes
        errors."""
        self.firmware.bring_up()
        self.machine.write_bytes(MTT + 8 * (FIRST_MTT + 1), (SECOND_BUFFER | 1).to_bytes(8, "big"))
        context = bytearray(0x40)
        context[2], context[0x0C] = 0x09, 6
        context[0x18:0x20] = (8 * (FIRST_MTT + 1)).to_bytes(8, "big")
        assert self.firmware.with_mailbox(SW2HW_EQ, context, SECOND_EQN) == 0
        assert self.firmware.command(MAP_EQ, 1 << EQ_OVERFLOW, SECOND_EQN) == 0
        for number in range(65):
            if number == 63:
                self.watch()
            self.firmware.post(NOP, token=0x7000 + number, event=True)
            self.machine.step_clock(1000)
        self.look(f"eq:{EQN}")

    def completion(self):
        """A send whose data lies in no region: the driver gives a key that it never registered."""
        self.firmware.bring_up()
        self.make_queue_pair()
        send = bytearray(128)
        send[0:16] = bytes((0, 0, 0, 0x0A, 0, 0, 0, 2, 0, 0, 0, 0x0C, 0, 0, 0, 0))
        send[16:32] = (
            (64).to_bytes(4, "big") + (0xDEAD00).to_bytes(4, "big") + (0x300000).to_bytes(8, "big")
        )
        send[64] = 0x80
        self.machine.write_bytes(SENDS, bytes(send))
        self.watch()
        self.machine.write(self.bar2 + 4096 * UAR_PAGE + SEND_DOORBELL, swap(QPN << 8))
        self.machine.step_clock(1000000)
        self.look(f"qp:{QPN:#x}")

    def make_queue_pair(self):
        """An RC queue pair that may send, with two entries of 64 bytes."""
        firmware = self.firmware
        for number, buffer in ((2, COMPLETIONS), (3, SENDS)):
            self.machine.write_bytes(
                MTT + 8 * (FIRST_MTT + number), (buffer | 1).to_bytes(8, "big")
            )
        self.machine.write_bytes(COMPLETIONS, b"\xff" * 4096)
        queue = bytearray(0x40)
        queue[0x0C:0x10] = (6 << 24 | UAR_PAGE).to_bytes(4, "big")
        queue[0x17] = EQN
        queue[0x18:0x20] = (8 * (FIRST_MTT + 2)).to_bytes(8, "big")
        queue[0x38:0x40] = RECORDS.to_bytes(8, "big")
        assert firmware.with_mailbox(SW2HW_CQ, queue, CQN) == 0
        mailbox = bytearray(0x100 + 8)

        def put(offset, value, size=4):
            mailbox[8 + offset : 8 + offset + size] = value.to_bytes(size, "big")

        put(0x00, 3 << 11)
        put(0x08, 5 << 29 | 30 << 24 | 1 << 11 | 2 << 8)
        put(0x0C, UAR_PAGE)
        put(0x10, QPN)
        put(0x14, QPN)
        put(0x1C, 1)
        put(0x38, 0x83 << 24)
        put(0x7C, CQN)
        put(0x9C, CQN)
        put(0xC8, 8 * (FIRST_MTT + 3), 8)
        for step in (RST2INIT_QP, INIT2RTR_QP, RTR2RTS_QP):
            assert firmware.with_mailbox(step, mailbox, QPN) == 0

    def packet(self):
        """The driver opens its port and takes it for ready; no subnet manager has made it
        active."""
        peer = wire.Peer(self.cable)
        self.firmware.bring_up()
        assert self.firmware.command(INIT_PORT, 0, 1) == 0
        peer.train(self.machine)
        self.watch()
        lrh = struct.pack(">BBHHH", 0x00, 0x02, 0xFFFF, 8, 1)
        bth = struct.pack(">BBHII", 0x64, 0, 0xFFFF, 0x123, 7)
        peer.send(wire.sealed(lrh + bth + struct.pack(">II", 0x1234, 0x55)))
        wire.until(lambda: self.machine.get("explanations"), self.machine, step=1000)
        peer.close()
        self.look()

    def hang(self):
        """The driver waits for the event of a command, and has asked for all events but those."""
        self.firmware.bring_up()
        assert self.firmware.command(MAP_EQ, 1 << COMMAND_COMPLETION, 1 << 31 | EQN) == 0
        self.watch()
        self.firmware.post(NOP, token=0x7001, event=True)
        self.machine.step_clock(1000000000)
        assert self.firmware.event(0) is None
        self.look(f"eq:{EQN}")


def shown():
    """(kind, view) -> the block on the page that says it is that."""
    with open(PAGE, encoding="utf-8") as file:
        blocks = re.findall(
            r"<!-- planted: (\w+), (.*?) -->\n+```\n(.*?)\n```\n", file.read(), re.DOTALL
        )
    return {(kind, view): text for kind, view, text in blocks}


class Debugging(unittest.TestCase):
    maxDiff = None

    def check(self, kind):
        with tempfile.TemporaryDirectory(prefix="freehca-debugging-") as folder:
            cable = f"stream,id=wire,server=on,addr.type=unix,addr.path={cable_in(folder)}"
            with Machine(
                "-netdev", cable, "-device", "mlx4,id=hca0,netdev1=wire", "-D", log_in(folder)
            ) as machine:
                planted = Planted(machine, folder)
                getattr(planted, kind)()
        page = {view: text for (of, view), text in shown().items() if of == kind}
        self.assertTrue(page, f"the page has no block of '{kind}'; it would be {planted.views}")
        for view, text in page.items():
            self.assertEqual(planted.views[view], text, f"{kind}, {view}")

    def test_a_refused_command_looks_as_the_page_shows_it(self):
        self.check("refused")

    def test_a_complaint_looks_as_the_page_shows_it(self):
        self.check("complaint")

    def test_an_error_event_looks_as_the_page_shows_it(self):
        self.check("event")

    def test_a_completion_with_error_looks_as_the_page_shows_it(self):
        self.check("completion")

    def test_a_dropped_packet_looks_as_the_page_shows_it(self):
        self.check("packet")

    def test_a_hang_looks_as_the_page_shows_it(self):
        self.check("hang")

    def test_the_page_shows_nothing_else(self):
        tried = {name for name in vars(Planted) if not name.startswith("_")} - {
            "watch",
            "look",
            "make_queue_pair",
        }
        self.assertEqual({kind for kind, _ in shown()}, tried)


if __name__ == "__main__":
    unittest.main()
