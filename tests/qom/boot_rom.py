# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""An expansion ROM that boots a kernel of Linux's format, as ipxe.lkrn is. Debian ships no ROM with
iPXE's driver for these adapters; this one carries the iPXE that Debian ships, whole."""
import os
import subprocess

VENDOR = 0x15B3
SECTOR, PIECE = 512, 0x8000
# What boot_rom.S assembles to, and the kernel stands behind.
CODE = 1024
SETUP_SECTORS = 0x1F1
PNP_HEADER, PNP_CHECKSUM = 0x1A, 9


def rounded(length, unit):
    return -(-length // unit)


def assemble(folder, symbols):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "boot_rom.S")
    compiled, linked = (os.path.join(folder, name) for name in ("boot_rom.o", "boot_rom.bin"))
    given = [word for name, value in symbols.items() for word in ("--defsym", f"{name}={value}")]
    subprocess.run(["as", "--32", *given, "-o", compiled, source], check=True)
    subprocess.run(
        "ld -m elf_i386 --oformat binary -Ttext 0 -e 0 -o".split() + [linked, compiled], check=True
    )
    with open(linked, "rb") as file:
        return bytearray(file.read())


def set_sum_to_zero(code, begin, end, at):
    code[at] = (code[at] - sum(code[begin:end])) & 0xFF


def make(folder, kernel, device_id):
    """The path of a ROM for the adapter with this PCI device ID, made in the folder."""
    with open(kernel, "rb") as file:
        image = file.read()
    # Linux's boot protocol: a sector, and as many as it says there, are for 16 bits; the rest is
    # for 1 MiB.
    setup = (image[SETUP_SECTORS] + 1) * SECTOR
    system_pieces = rounded(len(image) - setup, PIECE)
    length = rounded(CODE + setup + system_pieces * PIECE, SECTOR) * SECTOR
    code = assemble(
        folder,
        {
            "VENDOR": VENDOR,
            "DEVICE": device_id,
            "ROM_SECTORS": length // SECTOR,
            "SETUP_AT": CODE,
            "SETUP_PIECES": rounded(setup, PIECE),
            "SYSTEM_AT": CODE + setup,
            "SYSTEM_PIECES": system_pieces,
        },
    )
    assert len(code) == CODE
    header = int.from_bytes(code[PNP_HEADER : PNP_HEADER + 2], "little")
    set_sum_to_zero(code, header, header + 32, header + PNP_CHECKSUM)
    set_sum_to_zero(code, 0, CODE, CODE - 1)
    path = os.path.join(folder, "boot.rom")
    with open(path, "wb") as file:
        file.write((bytes(code) + image).ljust(length, b"\0"))
    return path
