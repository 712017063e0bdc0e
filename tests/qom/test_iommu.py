# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The device behind a virtual IOMMU: what the guest maps, maps elsewhere and takes back counts from
its next word on. A write is posted: the adapter is not told that it led nowhere."""
import unittest

from firmware import QUERY_FW, Firmware
from machine import Machine

# Intel's VT-d: registers, and bits of them (Intel Virtualization Technology for Directed I/O,
# chapters 9 and 11).
REGISTERS = 0xFED90000
GLOBAL_COMMAND, ROOT_TABLE, CONTEXT_COMMAND = 0x18, 0x20, 0x28
IOTLB_INVALIDATE = 0xF8
SET_ROOT_TABLE, TRANSLATE = 1 << 30, 1 << 31
GLOBALLY_IN_CONTEXT, GLOBALLY_IN_IOTLB = 1 << 63 | 1 << 61, 1 << 63 | 1 << 60
PRESENT, READ_WRITE, THREE_LEVELS, DOMAIN = 1, 3, 1, 7 << 8

ROOTS, CONTEXTS, TABLES = 0x400000, 0x401000, 0x402000
SEEN_AT, ONE_PAGE, OTHER_PAGE = 0x7000, 0x500000, 0x501000
DEVICE = 1 << 3  # slot 1, function 0
EMPTY = b"\xa5" * 64


class Iommu(unittest.TestCase):
    def setUp(self):
        self.machine = Machine("-device", "intel-iommu", "-device", "mlx4,addr=1").__enter__()
        self.addCleanup(self.machine.__exit__)
        self.firmware = Firmware(self.machine, self.machine.function().enable()[0])
        self.store(ROOTS, CONTEXTS | PRESENT)
        self.store(CONTEXTS + 16 * DEVICE, TABLES | PRESENT)
        self.store(CONTEXTS + 16 * DEVICE + 8, DOMAIN | THREE_LEVELS)
        for level in range(2):
            self.store(TABLES + 0x1000 * level, TABLES + 0x1000 * (level + 1) | READ_WRITE)
        self.machine.write(REGISTERS + ROOT_TABLE, ROOTS, 8)
        self.machine.write(REGISTERS + GLOBAL_COMMAND, SET_ROOT_TABLE)
        self.machine.write(REGISTERS + GLOBAL_COMMAND, TRANSLATE)
        self.machine.write(REGISTERS + CONTEXT_COMMAND, GLOBALLY_IN_CONTEXT, 8)
        for page in (ONE_PAGE, OTHER_PAGE):
            self.machine.write_bytes(page, EMPTY)

    def store(self, address, value):
        self.machine.write_bytes(address, value.to_bytes(8, "little"))

    def map(self, entry):
        """What the device sees at SEEN_AT from now on."""
        self.store(TABLES + 0x2000 + 8 * (SEEN_AT >> 12), entry)
        self.machine.write(REGISTERS + IOTLB_INVALIDATE, GLOBALLY_IN_IOTLB, 8)

    def query(self):
        return self.firmware.command(QUERY_FW, output=SEEN_AT)

    def written(self):
        return [
            page
            for page in (ONE_PAGE, OTHER_PAGE)
            if self.machine.read_bytes(page, len(EMPTY)) != EMPTY
        ]

    def test_each_command_writes_where_its_address_leads_then(self):
        self.map(ONE_PAGE | READ_WRITE)
        self.assertEqual(0, self.query())
        self.assertEqual([ONE_PAGE], self.written())
        self.machine.write_bytes(ONE_PAGE, EMPTY)
        self.map(OTHER_PAGE | READ_WRITE)
        self.assertEqual(0, self.query())
        self.assertEqual([OTHER_PAGE], self.written())

    def test_nothing_is_written_where_a_mapping_was(self):
        self.map(ONE_PAGE | READ_WRITE)
        self.assertEqual(0, self.query())
        self.machine.write_bytes(ONE_PAGE, EMPTY)
        self.map(0)
        self.query()
        self.assertEqual([], self.written())

    def test_nothing_is_written_to_a_page_that_may_be_read_alone(self):
        self.map(ONE_PAGE | 1)
        self.query()
        self.assertEqual([], self.written())
