#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""check_frames.py finds what is wrong with a frame, and says when a kind is missing. Exit status
77: there is no tshark, and the rest of the tests passed."""
import contextlib
import io
import os
import shutil
import struct
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_frames  # noqa: E402
import roce_frame  # noqa: E402
import wire  # noqa: E402

# From a ConnectX-4 Lx (scapy, test/contrib/roce.uts): a CNP over IPv4, without the FCS.
CAPTURED = bytes.fromhex(
    "e41d2dab2bc27cfe90643b32080045c2003c718c400040119161"
    "0a0011010a001201000012b700280000"
    "8100ffff4000011800000000" + "00" * 16 + "82fd002a"
)
MACS = bytes.fromhex("020000000002020000000001")
TAGGED = b"\x81\x00\x60\x07"
WRITE = bytes.fromhex("0a40ffff000000450000000100000000000010000000123400000008") + b"8 bytes."
HAS_TSHARK = shutil.which("tshark") is not None


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">H", total ^ 0xFFFF)


def ipv4(protocol, payload, tos=0):
    start = struct.pack(">BBHIBB", 0x45, tos, 20 + len(payload), 0x4000, 64, protocol)
    addresses = bytes((10, 0, 0, 1, 10, 0, 0, 2))
    return start + checksum(start + addresses) + addresses + payload


def tcp(payload=b"four", written=None):
    """A segment with its checksum, or with what is written in its place."""
    start = struct.pack(">HHIIBBH", 40000, 5000, 1, 1, 0x50, 0x10, 1024)
    pseudo = bytes((10, 0, 0, 1, 10, 0, 0, 2, 0, 6)) + struct.pack(">H", 20 + len(payload))
    return start + (written or checksum(pseudo + start + b"\0\0" + payload)) + b"\0\0" + payload


def with_icrc(frame):
    packet = roce_frame.packet_of(frame + bytes(4))
    return frame + roce_frame.icrc(packet)


def roce_2(tag=TAGGED, transport=WRITE):
    udp = struct.pack(">HHHH", 0xC000, 4791, 8 + len(transport) + 4, 0)
    whole = ipv4(17, udp + transport + bytes(4), tos=0x10)
    return with_icrc(MACS + tag + b"\x08\x00" + whole[:-4])


def roce_2_ipv6():
    udp = struct.pack(">HHHH", 0xC000, 4791, 8 + len(WRITE) + 4, 0)
    start = struct.pack(">IHBB", 6 << 28, len(udp) + len(WRITE) + 4, 17, 64)
    addresses = bytes.fromhex("fd00" + "00" * 13 + "01" + "fd00" + "00" * 13 + "02")
    return with_icrc(MACS + b"\x86\xdd" + start + addresses + udp + WRITE)


def roce_1():
    grh = struct.pack(">IHBB", 6 << 28, len(WRITE) + 4, 0x1B, 64) + bytes(range(32))
    return with_icrc(MACS + b"\x89\x15" + grh + WRITE)


PLAIN = MACS + b"\x08\x00" + ipv4(6, tcp())


def changed(frame, at):
    return frame[:at] + bytes((frame[at] ^ 1,)) + frame[at + 1 :]


class Icrc(unittest.TestCase):
    """Of frames from outside, and of InfiniBand's."""

    def test_a_captured_frame_s_follows_and_no_flipped_bit_goes_unseen_where_it_is_covered(self):
        packet = roce_frame.packet_of(CAPTURED)
        self.assertEqual((2, 4), (packet.version, packet.ip))
        self.assertEqual(packet.icrc, roce_frame.icrc(packet))
        # TOS, TTL, the checksums of IPv4 and UDP, and the byte of BTH with FECN and BECN.
        masked = {15, 22, 24, 25, 40, 41, 46}
        unseen = set()
        for at in range(14, len(CAPTURED)):
            damaged = roce_frame.packet_of(changed(CAPTURED, at))
            if damaged is not None and damaged.icrc == roce_frame.icrc(damaged):
                unseen.add(at)
        self.assertEqual(masked, unseen)

    def test_of_version_1_it_is_that_of_infiniband_with_a_grh(self):
        packet = roce_frame.packet_of(roce_1())
        lrh = bytes.fromhex("0003000000150000")
        self.assertEqual(wire.icrc(lrh + packet.network + packet.transport), packet.icrc)


class Shapes(unittest.TestCase):
    def test_whole_packets_have_nothing_wrong(self):
        for frame in (roce_1(), roce_2(), roce_2(tag=b""), roce_2_ipv6()):
            self.assertEqual([], roce_frame.wrongs(roce_frame.packet_of(frame)))

    def test_what_is_no_packet_of_roce_is_none(self):
        for frame in (PLAIN, MACS, changed(roce_2(), 14 + 4 + 20 + 3), MACS + b"\x08\x00\x45"):
            self.assertIsNone(roce_frame.packet_of(frame))

    def test_headers_that_do_not_fit_are_told(self):
        self.assertIn("opcode", roce_frame.wrongs(roce_frame.packet_of(CAPTURED)))  # CNP: no shape
        short = with_icrc(roce_2()[:-8])
        self.assertEqual(
            ["lengths or version of the network header"],
            [w for w in roce_frame.wrongs(roce_frame.packet_of(short)) if "payload" not in w],
        )
        self.assertEqual(["short"], roce_frame.wrongs(roce_frame.packet_of(roce_1()[:60])))

    def test_traits(self):
        self.assertEqual(
            {"roce2", "rc", "write"}, roce_frame.traits(roce_frame.packet_of(roce_2()))
        )


@unittest.skipUnless(HAS_TSHARK, "no tshark here (Debian's package tshark)")
class Captures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="freehca-frames-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "one.pcap")

    def check(self, *frames):
        """Of a capture of these; what it prints and what it asserts together."""
        with open(self.path, "wb") as file:
            file.write(struct.pack("<6I", 0xA1B23C4D, 0x40002, 0, 0, 65535, 1))
            for frame in frames:
                file.write(struct.pack("<4I", 0, 0, len(frame), len(frame)) + frame)
        with contextlib.redirect_stdout(io.StringIO()):
            return check_frames.check(self.path)

    def assert_wrong(self, words, *frames):
        with self.assertRaisesRegex(AssertionError, words):
            self.check(*frames)

    def test_right_frames_and_their_kinds(self):
        kinds = self.check(PLAIN, roce_1(), roce_2(), roce_2_ipv6())
        self.assertEqual(4, kinds.total())
        for wanted in ("tcp+ip", "roce1+rc+write", "roce2+ipv6", "vlan=7+pcp=3+tos=0x10+roce2"):
            self.assertEqual(1, sum(set(wanted.split("+")) <= kind for kind in kinds), wanted)

    def test_one_bit_of_what_a_checksum_covers(self):
        self.assert_wrong("checksum of ip:", changed(PLAIN, 14 + 8))
        self.assert_wrong("checksum of tcp:", changed(PLAIN, len(PLAIN) - 1))
        for frame in (roce_1(), roce_2(), roce_2_ipv6()):
            self.assert_wrong("ICRC", PLAIN, changed(frame, len(frame) - 8))

    def test_both_forms_of_zero_are_right_for_tcp(self):
        nought = tcp(b"\0\0")[16:18]
        self.assertEqual(b"\0\0", tcp(nought)[16:18])
        self.check(MACS + b"\x08\x00" + ipv4(6, tcp(nought)))
        self.check(MACS + b"\x08\x00" + ipv4(6, tcp(nought, written=b"\xff\xff")))
        self.assert_wrong(
            "checksum of tcp:", MACS + b"\x08\x00" + ipv4(6, tcp(written=b"\xff\xff"))
        )

    def test_udp_without_a_checksum_is_roce_s_alone(self):
        udp = struct.pack(">HHHH", 5000, 5000, 12, 0) + b"four"
        self.assert_wrong("checksum of udp: 3", MACS + b"\x08\x00" + ipv4(17, udp))

    def test_a_frame_that_is_cut_short(self):
        self.assert_wrong("", PLAIN[:-30])

    def test_kinds_that_are_missing_and_kinds_that_should_not_be_there(self):
        self.check(PLAIN)
        kinds = self.path + ".kinds"
        for wanted, status, words in (
            ("# of TCP\ntcp+ip\nno udp", 0, "1 of tcp+ip\n0 of udp\n"),
            ("tcp\nudp # none", 1, "\nno frame of udp\n"),
            ("tcp\nno ip", 1, "\n1 frames of ip\n"),
        ):
            with open(kinds, "w", encoding="utf-8") as file:
                file.write(wanted)
            with mock.patch.object(sys, "argv", ["", "--kinds", kinds, self.path]):
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    self.assertEqual(status, check_frames.main())
            self.assertIn(words, said.getvalue())

    def test_a_file_that_wants_nothing_is_a_mistake(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("# all of it is a comment\nno tcp\n")
        with self.assertRaises(AssertionError):
            check_frames.kinds_of(self.path)


if __name__ == "__main__":
    program = unittest.main(exit=False)
    sys.exit(1 if not program.result.wasSuccessful() else 0 if HAS_TSHARK else 77)
