# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Programs of this machine, changed so that a preloaded library does not reach them."""
import struct

PT_NULL = 0
PT_INTERP = 3
MACHINE = 18  # offset of e_machine
WORD_SIZE = 4  # offset of EI_CLASS


def segments(program):
    """(offset of the program header, type, offset in the file, size in the file) of each."""
    headers = struct.unpack_from("<Q", program, 32)[0]
    size, count = struct.unpack_from("<HH", program, 54)
    for i in range(count):
        at = headers + i * size
        kind = struct.unpack_from("<I", program, at)[0]
        offset = struct.unpack_from("<Q", program, at + 8)[0]
        yield at, kind, offset, struct.unpack_from("<Q", program, at + 32)[0]


def interpreter_of(program):
    return next(s for s in segments(program) if s[1] == PT_INTERP)


def without_loader(program):
    changed = bytearray(program)
    struct.pack_into("<I", changed, interpreter_of(program)[0], PT_NULL)
    return bytes(changed)


def with_loader(program, name):
    changed = bytearray(program)
    _, _, offset, size = interpreter_of(program)
    changed[offset : offset + size] = name.encode().ljust(size, b"\0")[:size]
    return bytes(changed)


def of_machine(program, machine):
    changed = bytearray(program)
    struct.pack_into("<H", changed, MACHINE, machine)
    return bytes(changed)


def of_word_size(program, word_size):
    changed = bytearray(program)
    changed[WORD_SIZE] = word_size
    return bytes(changed)
