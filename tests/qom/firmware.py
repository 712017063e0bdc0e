# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The least driver that a test needs: commands, bring-up up to INIT_HCA, one event queue."""
QUERY_FW, MAP_EQ, SW2HW_EQ, INIT_HCA, NOP = 0x004, 0x012, 0x013, 0x007, 0x031
RUN_FW, MAP_FA, SET_ICM_SIZE, MAP_ICM_AUX, MAP_ICM = 0xFF6, 0xFFF, 0xFFD, 0xFFC, 0xFFA
HCR, MSIX_TABLE, MSIX_CONTROL = 0x80680, 0x7C000, 0x9E
GO, EVENT, TOGGLE = 1 << 23, 1 << 22, 1 << 21
POLLED = 0xFFFF

# Where things lie in the guest's memory: above what other tests use.
MAILBOX, OUTPUT, EQ_BUFFER, ICM, AREA = 0x200000, 0x201000, 0x202000, 0x1000000, 0x2000000
# The tables in context memory, one chunk of 16 pages for each.
QPC, RDMARC, ALTC, AUXC, SRQC, CQC, EQC, DMPT, MC, MTT = (n << 20 for n in range(10))
CMPT, CMPT_BYTES, CMPT_TYPE_SHIFT = 0x100000000, 64, 24
LOG_CHUNK = 4
EQN, FIRST_MTT = 35, 64


def swap(value):
    return int.from_bytes(value.to_bytes(4, "big"), "little")


class Firmware:
    def __init__(self, machine, bar0):
        self.machine, self.bar0, self.lent = machine, bar0, 0

    def post(self, *what, **more):
        for index, word in enumerate(self.words(*what, **more)):
            self.machine.write(self.bar0 + HCR + 4 * index, swap(word))

    def words(self, opcode, given=0, modifier=0, output=0, token=POLLED, event=False):
        toggle = (self.last_word() & TOGGLE) ^ TOGGLE
        return [
            given >> 32,
            given & 0xFFFFFFFF,
            modifier,
            output >> 32,
            output & 0xFFFFFFFF,
            token << 16,
            GO | toggle | opcode | (EVENT if event else 0),
        ]

    def last_word(self):
        return swap(self.machine.read(self.bar0 + HCR + 24))

    def status(self):
        """Of the command in the register; None when it is not answered within a second."""
        for _ in range(1000):
            last = self.last_word()
            if not last & GO:
                return last >> 24
            self.machine.step_clock(1000000)
        return None

    def command(self, *what, **more):
        self.post(*what, **more)
        return self.status()

    def with_mailbox(self, opcode, data, modifier=0):
        self.machine.write_bytes(MAILBOX, bytes(data).ljust(0x200, b"\0"))
        return self.command(opcode, MAILBOX, modifier)

    def map(self, opcode, virtual, physical, log_pages):
        return self.with_mailbox(
            opcode, virtual.to_bytes(8, "big") + (physical | log_pages).to_bytes(8, "big"), 1
        )

    def lend(self, virtual):
        """Where in the guest's memory the 16 pages stand that context memory has from now on."""
        place = ICM + (self.lent << 12 + LOG_CHUNK)
        self.lent += 1
        assert self.map(MAP_ICM, virtual, place, LOG_CHUNK) == 0, hex(virtual)
        return place

    def start(self):
        """Up to RUN_FW."""
        assert self.map(MAP_FA, 0, AREA, 10) == 0
        assert self.command(RUN_FW) == 0

    def bring_up(self):
        """Up to INIT_HCA, and an event queue on MSI-X vector 0 that takes all events."""
        self.start()
        assert self.command(SET_ICM_SIZE, 1 << 30) == 0
        assert self.map(MAP_ICM_AUX, 0, AREA + 0x400000, 9) == 0
        places = {
            table: self.lend(table)
            for table in (QPC, RDMARC, ALTC, AUXC, SRQC, CQC, EQC, DMPT, MC, MTT)
        }
        for kind in range(4):
            self.lend(CMPT + (kind << CMPT_TYPE_SHIFT) * CMPT_BYTES)
        profile = bytearray(0x200)
        profile[0] = 2
        for at, base, log in (
            (0x30, QPC, 8),
            (0x48, SRQC, 6),
            (0x50, CQC, 8),
            (0x80, EQC, 6),
            (0x90, RDMARC, 1),
            (0x60, ALTC, 0),
            (0x70, AUXC, 0),
            (0xC0, MC, 0),
            (0xF0, DMPT, 0),
            (0x100, MTT, 0),
            (0x108, CMPT, 0),
        ):
            profile[at : at + 8] = (base | log).to_bytes(8, "big")
        for at, log in ((0xD3, 9), (0xD7, 3), (0xDB, 4), (0xFB, 8), (0x12A, 10)):
            profile[at] = log
        profile[0xD8] |= 0x08
        assert self.with_mailbox(INIT_HCA, profile) == 0
        self.machine.write_bytes(places[MTT] + 8 * FIRST_MTT, (EQ_BUFFER | 1).to_bytes(8, "big"))
        context = bytearray(0x40)
        context[2] = 0x09  # armed
        context[0x0C] = 6  # 64 entries
        context[0x18:0x20] = (8 * FIRST_MTT).to_bytes(8, "big")
        assert self.with_mailbox(SW2HW_EQ, context, EQN) == 0
        assert self.command(MAP_EQ, 0xFFFFFFFFFFFFFFFF, EQN) == 0

    def event(self, index):
        """The entry of the event queue: 32 bytes, the first round's owner bit clear when it is
        there."""
        entry = self.machine.read_bytes(EQ_BUFFER + 32 * index, 32)
        return None if entry[31] & 0x80 else entry

    def aim(self, function, address, data):
        """Switches MSI-X on, with vector 0 as a store of `data` to `address`."""
        for index, word in enumerate((address & 0xFFFFFFFF, address >> 32, data, 0)):
            self.machine.write(self.bar0 + MSIX_TABLE + 4 * index, word)
        function.write(MSIX_CONTROL, 0x8000, 2)
