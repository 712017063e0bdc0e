# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Vital product data through its two registers."""
import unittest

from machine import Machine

ADDRESS, DATA, FLAG = 0x4A, 0x4C, 0x8000


def read_vpd(function, count=4096):
    data = b""
    for at in range(0, count, 4):
        function.write(ADDRESS, at, 2)
        assert function.read(ADDRESS, 2) == at | FLAG
        data += function.read(DATA).to_bytes(4, "little")
    return data


def fields(data):
    """A list of tags: (tag, list of (keyword, bytes) or bytes), and the offset of the checksum's
    byte."""
    tags, at, checksum = [], 0, None
    while data[at] != 0x78:
        tag, size = data[at], int.from_bytes(data[at + 1 : at + 3], "little")
        body, start = data[at + 3 : at + 3 + size], at + 3
        if tag == 0x82:
            tags.append((tag, body))
        else:
            found, inner = [], 0
            while inner < size:
                length = body[inner + 2]
                keyword = body[inner : inner + 2].decode()
                if keyword == "RV":
                    checksum = start + inner + 3
                found.append((keyword, body[inner + 3 : inner + 3 + length]))
                inner += 3 + length
            tags.append((tag, found))
        at = start + size
    return tags, checksum, at + 1


class Vpd(unittest.TestCase):
    def test_contents_of_a_connectx3(self):
        with Machine("-device", "mlx4,variant=connectx3") as machine:
            data = read_vpd(machine.function())
            tags, checksum, end = fields(data)
            self.assertEqual(4096, end)
            self.assertEqual((0x82, b"CX354A - ConnectX-3 QSFP"), tags[0])
            named = dict(tags[1][1])
            self.assertEqual(b"MCX354A-FCBT".ljust(21), named["PN"])
            self.assertEqual(b"AC", named["EC"])
            self.assertEqual(24, len(named["SN"]))
            self.assertEqual(b"PCIe Gen3 x8".ljust(16), named["V0"])
            self.assertEqual(0, sum(data[: checksum + 1]) % 256)
            free = [len(value) for keyword, value in tags[2][1] if keyword == "RW"]
            self.assertEqual([105] + [253] * 14 + [252], free)

    def test_contents_of_a_connectx2(self):
        with Machine("-device", "mlx4,variant=connectx2,ports=1") as machine:
            data = read_vpd(machine.function(), 512)
            tags, checksum, _ = fields(data)
            self.assertEqual((0x82, b"KESTREL QDR"), tags[0])
            self.assertEqual(b"MHQH19B-XTR".ljust(21), dict(tags[1][1])["PN"])
            self.assertEqual(0, sum(data[: checksum + 1]) % 256)
            self.assertEqual(
                [109], [len(value) for keyword, value in tags[2][1] if keyword == "RW"]
            )

    def test_only_the_read_write_part_is_writable(self):
        with Machine("-device", "mlx4") as machine:
            function = machine.function()
            before = read_vpd(function, 512)

            def write(at):
                function.write(DATA, 0x64636261)
                function.write(ADDRESS, at | FLAG, 2)
                self.assertEqual(at, function.read(ADDRESS, 2))

            write(0)
            write(40)
            write(256 + 4)
            after = read_vpd(function, 512)
            self.assertEqual(before[:260], after[:260])
            self.assertEqual(b"abcd", after[260:264])

    def test_past_the_end(self):
        with Machine("-device", "mlx4") as machine:
            function = machine.function()
            function.write(ADDRESS, 0x7FFC, 2)
            self.assertEqual(0xFFFC, function.read(ADDRESS, 2))
            self.assertEqual(0, function.read(DATA))
