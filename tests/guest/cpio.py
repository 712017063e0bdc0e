#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""cpio.py FOLDER ARCHIVE: writes the folder as a "newc" cpio archive, as an initramfs wants it,
without root.

All owners are root; times are zero, so that the same files give the same archive. The kernel
unpacks several archives that follow each other: each is padded to 512 bytes, so that they can be
concatenated.
"""
import os
import stat
import sys


class Writer:
    def __init__(self, file):
        self.file = file
        self.count = 0
        self.size = 0

    def _write(self, data):
        self.file.write(data)
        self.size += len(data)

    def _pad(self, unit):
        self._write(b"\0" * (-self.size % unit))

    def add(self, name, mode, data=b"", device=(0, 0)):
        self.count += 1
        fields = (
            self.count,
            mode,
            0,
            0,
            2 if stat.S_ISDIR(mode) else 1,
            0,
            len(data),
            0,
            0,
            device[0],
            device[1],
            len(name.encode()) + 1,
            0,
        )
        self._write(
            b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        )
        self._pad(4)
        self._write(data)
        self._pad(4)

    def add_path(self, path, name):
        """Adds one file, link or folder of the host under the name."""
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            self.add(name, stat.S_IFLNK | 0o777, os.readlink(path).encode())
        elif stat.S_ISDIR(status.st_mode):
            self.add(name, stat.S_IFDIR | 0o755)
        elif stat.S_ISREG(status.st_mode):
            with open(path, "rb") as file:
                self.add(
                    name, stat.S_IFREG | (0o755 if status.st_mode & 0o100 else 0o644), file.read()
                )

    def close(self):
        self.add("TRAILER!!!", 0)
        self._pad(512)


def write_folder(folder, archive):
    with open(archive, "wb") as file:
        writer = Writer(file)
        for path, folders, names in os.walk(folder):
            folders.sort()
            for name in sorted(folders + names):
                full = os.path.join(path, name)
                writer.add_path(full, os.path.relpath(full, folder))
        # The kernel opens this one before any of our code runs.
        if os.path.isdir(os.path.join(folder, "dev")):
            writer.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
        writer.close()


if __name__ == "__main__":
    write_folder(sys.argv[1], sys.argv[2])
