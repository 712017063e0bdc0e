# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""A guest that writes nonsense everywhere: QEMU lives, answers, and the card works after a
reset."""
import random
import unittest

from machine import Machine
from test_registers import EVENT, GO, HCR, OUTPUT, QUERY_FW, command, swap

ROUNDS = 1500
LANDMARKS = (0x1F000, 0x7C000, 0x7D000, 0x80680, 0x8069C, 0xF0000, 0xF0010, 0xF0380, 0xF03FC)


def post(machine, function, dice, bar0):
    """A command of any opcode, most of them real ones, with a mailbox of random words."""
    inside, outside = (
        dice.choice((0, OUTPUT, OUTPUT + 0x1000, dice.randrange(1 << 64))) for _ in range(2)
    )
    machine.write_bytes(OUTPUT, dice.randbytes(256))
    words = [
        inside >> 32,
        inside & 0xFFFFFFFF,
        dice.choice((0, 1, 2, dice.randrange(1 << 32))),
        outside >> 32,
        outside & 0xFFFFFFFF,
        dice.randrange(1 << 32),
        GO
        | dice.choice((0, EVENT))
        | dice.choice((0, 1)) << 21
        | dice.randrange(4) << 12
        | dice.randrange(1 << 12 if dice.random() < 0.1 else 0x70),
    ]
    for index, word in enumerate(words):
        machine.write(bar0 + HCR + 4 * index, swap(word))


class Hostile(unittest.TestCase):
    def play(self, seed):
        dice = random.Random(seed)
        with Machine("-device", "mlx4,id=hca0", "-d", "guest_errors", "-D", "/dev/null") as machine:
            function = machine.function().open_window()
            bar0, bar2 = function.enable()
            for _ in range(ROUNDS):
                kind = dice.randrange(20)
                size = dice.choice((1, 2, 4, 4, 4, 8))
                value = dice.choice((0, 1, 0x01000000, dice.randrange(1 << 32), (1 << 64) - 1)) & (
                    (1 << 8 * size) - 1
                )
                if kind < 6:
                    post(machine, function, dice, bar0)
                elif kind < 8:
                    offset = dice.choice(LANDMARKS) + dice.randrange(64)
                    machine.write(bar0 + offset // size * size, value, size)
                elif kind < 10:
                    machine.write(bar0 + dice.randrange(1 << 20) // size * size, value, size)
                elif kind < 12:
                    machine.read(bar0 + dice.randrange(1 << 20) // size * size, size)
                elif kind < 15:
                    machine.write(bar2 + dice.randrange(8 << 20) // size * size, value, size)
                elif kind < 16:
                    machine.read(bar2 + dice.randrange(8 << 20) // size * size, size)
                elif kind < 18:
                    # Not the BARs and the command: they would hide the rest.
                    function.write_extended(
                        dice.randrange(0x28, 0x1000) // 4 * 4, dice.randrange(1 << 32)
                    )
                elif kind < 19:
                    machine.step_clock(dice.choice((1, 1000, 1000000, 1000000000)))
                else:
                    function.write(0x44, 0, 2)
                    function.enable(bar0, bar2)
            function.write(0x44, 0, 2)
            machine.qmp("system_reset")
            machine.wait_event("RESET")
            function.enable(bar0, bar2)
            machine.write(bar0 + 0xF0010, 0x01000000)
            self.assertEqual(0x100715B3, function.read(0))
            function.enable(bar0, bar2)
            self.assertEqual(0, command(machine, bar0, QUERY_FW, OUTPUT))

    def test_nonsense(self):
        for seed in range(4):
            with self.subTest(seed=seed):
                self.play(seed)
