# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Registers, the gateway in configuration space, DMA and interrupts, through QEMU's bus."""
import unittest

from machine import Machine

HARDWARE_ID, FLASH_SEMAPHORE, HCR = 0xF0014, 0xF03FC, 0x80680
QUERY_FW = 0x004
GO, EVENT = 1 << 23, 1 << 22
OUTPUT = 0x100000
MSIX_TABLE, MSIX_PENDING = 0x7C000, 0x7D000


def swap(value):
    return int.from_bytes(value.to_bytes(4, "big"), "little")


def command(machine, bar0, opcode, output, token=0x1234):
    """Posts a command as a polling driver does, and gives the status when it is done."""
    words = [0, 0, 0, output >> 32, output & 0xFFFFFFFF, token << 16, GO | opcode]
    toggle = swap(machine.read(bar0 + HCR + 24)) & 1 << 21
    words[6] |= toggle ^ 1 << 21
    for index, word in enumerate(words):
        machine.write(bar0 + HCR + 4 * index, swap(word))
    for _ in range(1000):
        last = swap(machine.read(bar0 + HCR + 24))
        if not last & GO:
            return last >> 24
        machine.step_clock(1000)
    raise AssertionError("the command is not done")


class Registers(unittest.TestCase):
    def setUp(self):
        self.machine = Machine("-device", "mlx4,id=hca0").__enter__()
        self.addCleanup(self.machine.__exit__)
        self.function = self.machine.function()
        self.bar0, self.bar2 = self.function.enable()

    def test_registers_are_big_endian(self):
        self.assertEqual(0x1F7, swap(self.machine.read(self.bar0 + HARDWARE_ID)))

    def test_flash_semaphore_is_taken_by_reading(self):
        self.assertEqual(0, self.machine.read(self.bar0 + FLASH_SEMAPHORE))
        self.assertNotEqual(0, self.machine.read(self.bar0 + FLASH_SEMAPHORE))
        self.machine.write(self.bar0 + FLASH_SEMAPHORE, 0)
        self.assertEqual(0, self.machine.read(self.bar0 + FLASH_SEMAPHORE))

    def test_gateway_works_with_memory_space_off(self):
        self.function.write(0x04, 0, 2)
        self.function.write(0x58, HARDWARE_ID)
        self.assertEqual(0x1F7, self.function.read(0x5C))
        self.function.write(0x58, 0x100000)
        self.assertEqual(0xFFFFFFFF, self.function.read(0x5C))
        self.function.write(0x58, 0xF0016)
        self.assertEqual(0xFFFFFFFF, self.function.read(0x5C))

    def test_the_gateway_reaches_the_table_of_msix(self):
        """The same bytes as in BAR0, of which it makes words in the registers' way."""
        by_memory = self.bar0 + MSIX_TABLE
        self.function.write(0x58, MSIX_TABLE)
        self.function.write(0x5C, swap(0xFEE01000))
        self.assertEqual(swap(0xFEE01000), self.function.read(0x5C))
        self.assertEqual(0xFEE01000, self.machine.read(by_memory))
        self.machine.write(by_memory + 8, 0x4041)
        self.function.write(0x58, MSIX_TABLE + 8)
        self.assertEqual(swap(0x4041), self.function.read(0x5C))
        self.function.write(0x58, MSIX_PENDING)
        self.assertEqual(0, self.function.read(0x5C))
        self.assertEqual(0, self.machine.get("counter-complaints"))

    def test_a_command_answers_by_dma(self):
        self.machine.write_bytes(OUTPUT, bytes(256))
        self.assertEqual(0, command(self.machine, self.bar0, QUERY_FW, OUTPUT))
        answer = self.machine.read_bytes(OUTPUT, 256)
        major, subminor, minor = (int.from_bytes(answer[at : at + 2], "big") for at in (2, 4, 6))
        self.assertEqual((2, 42, 5700), (major, minor, subminor))
        self.assertEqual(1, self.machine.get("counters")["commands"])
        self.assertEqual(0, self.machine.get("counter-complaints"))

    def test_without_bus_mastering_there_is_no_dma(self):
        self.function.write(0x04, 2, 2)
        self.machine.write_bytes(OUTPUT, bytes(256))
        command(self.machine, self.bar0, QUERY_FW, OUTPUT)
        self.assertEqual(bytes(256), self.machine.read_bytes(OUTPUT, 256))

    def test_dma_to_its_own_registers_harms_nothing(self):
        for target in (
            self.bar0 + 0x80000,
            self.bar0 + 0xF0000,
            self.bar0 + 0x7C000,
            self.bar2,
            self.function.WINDOW + (1 << 15),
        ):
            with self.subTest(hex(target)):
                self.function.open_window()
                command(self.machine, self.bar0, QUERY_FW, target)
                self.assertEqual(0x100715B3, self.function.read(0))
                self.machine.qmp("system_reset")
                self.machine.wait_event("RESET")
                self.function.enable()
                self.assertEqual(0, command(self.machine, self.bar0, QUERY_FW, OUTPUT))

    def test_odd_sizes_are_complained_of(self):
        self.assertEqual(0xFF, self.machine.read(self.bar0 + HARDWARE_ID, 1))
        self.assertEqual(1, self.machine.get("counter-complaints"))

    def test_latency_takes_virtual_time(self):
        self.machine.set("x-fault-command-latency", 1000000)
        words = [0, 0, 0, 0, OUTPUT, 0, GO | 1 << 21 | QUERY_FW]
        for index, word in enumerate(words):
            self.machine.write(self.bar0 + HCR + 4 * index, swap(word))
        self.machine.step_clock(900000)
        self.assertTrue(swap(self.machine.read(self.bar0 + HCR + 24)) & GO)
        self.machine.step_clock(200000)
        self.assertFalse(swap(self.machine.read(self.bar0 + HCR + 24)) & GO)
