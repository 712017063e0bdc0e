# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What shared libraries a program needs, read from the file, so that nothing is executed."""
import os
import struct


def needed(path):
    """The names of the libraries (and the interpreter's path, as it stands) that an ELF file asks
    for.

    An empty list for whatever is not a 64-bit little-endian ELF file.
    """
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x7fELF\x02\x01":
        return []
    (header_offset,) = struct.unpack_from("<Q", data, 32)
    entry_size, count = struct.unpack_from("<HH", data, 54)
    segments = [
        struct.unpack_from("<IIQQQQ", data, header_offset + entry_size * i) for i in range(count)
    ]
    loads = [(address, size, offset) for kind, _, offset, address, _, size in segments if kind == 1]

    def offset_of(address):
        for start, size, offset in loads:
            if start <= address < start + size:
                return address - start + offset
        raise ValueError(f"{path}: address {address:#x} is in no segment")

    def text_at(offset):
        return data[offset : data.index(b"\0", offset)].decode()

    names, strings, result = [], None, []
    for kind, _, offset, _, _, size in segments:
        if kind == 3:  # PT_INTERP
            result.append(text_at(offset))
        if kind == 2:  # PT_DYNAMIC
            for position in range(offset, offset + size, 16):
                tag, value = struct.unpack_from("<QQ", data, position)
                if tag == 0:
                    break
                if tag == 1:  # DT_NEEDED
                    names.append(value)
                elif tag == 5:  # DT_STRTAB
                    strings = offset_of(value)
    return result + [text_at(strings + name) for name in names]


LIBRARY_FOLDERS = (
    "usr/lib/x86_64-linux-gnu",
    "lib/x86_64-linux-gnu",
    "usr/lib64",
    "lib64",
    "usr/lib",
    "lib",
)


def find_library(name, root="/"):
    """The path of a library below root, or None. An absolute name is taken as it stands."""
    if name.startswith("/"):
        path = os.path.join(root, name[1:])
        return path if os.path.exists(path) else None
    for folder in LIBRARY_FOLDERS:
        path = os.path.join(root, folder, name)
        if os.path.exists(path):
            return path
    return None
