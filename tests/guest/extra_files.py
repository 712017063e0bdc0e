# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The archive that is made for one run: our own part of the image (init, the library for scripts),
settings, the script, and the user's files with their libraries."""
import os
import stat
import sys

import cpio
import elf


class Extra:
    def __init__(self, archive, known):
        self.writer = cpio.Writer(archive)
        self.known = known
        self.folders = set()

    def add(self, name, data, mode):
        """Adds a file, and the folders above it that the image does not have."""
        name = name.lstrip("/")
        for top in ("bin", "sbin", "lib", "lib64"):
            # Links in the image: a folder of that name would replace them.
            if name.startswith(top + "/"):
                name = "usr/" + name
        parts = name.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if folder not in self.folders and folder != "usr":
                self.folders.add(folder)
                self.writer.add(folder, stat.S_IFDIR | 0o755)
        self.writer.add(name, stat.S_IFREG | mode, data)
        self.known.add(name)

    def add_host_file(self, path, name, mode=None):
        if os.path.isdir(path):
            for entry in sorted(os.listdir(path)):
                self.add_host_file(os.path.join(path, entry), name + "/" + entry, mode)
            return
        if mode is None:
            mode = 0o755 if os.access(path, os.X_OK) else 0o644
        with open(path, "rb") as file:
            self.add(name, file.read(), mode)
        self.add_libraries(path)

    def add_libraries(self, path):
        """The libraries of a program, where the image does not have them already."""
        for name in elf.needed(path):
            base = os.path.basename(name)
            if any(os.path.join(folder, base) in self.known for folder in elf.LIBRARY_FOLDERS):
                continue
            found = elf.find_library(name)
            if not found:
                sys.exit(f"guest: {path} needs {name}, which is not on this machine")
            self.add_host_file(os.path.realpath(found), "usr/lib/x86_64-linux-gnu/" + base, 0o755)


def write(archive, options, settings):
    known = set()
    for tools in options.tools:
        with open(f"{tools}/files.txt", encoding="utf-8") as file:
            known.update(file.read().split("\n"))
    extra = Extra(archive, known)
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "image")
    for entry in sorted(os.listdir(own)):
        extra.add_host_file(os.path.join(own, entry), entry)
    extra.add("guest/settings", settings.encode(), 0o644)
    allowed = b""
    for path in options.allowed:
        with open(path, "rb") as file:
            allowed += file.read()
    extra.add("guest/allowed-kernel-messages", allowed, 0o644)
    if options.script:
        extra.add_host_file(options.script, "guest/script", 0o755)
    for spec in options.file:
        path, _, rest = spec.partition(":")
        name, _, mode = rest.partition(":")
        if not name.startswith("/") or not os.path.exists(path):
            sys.exit(
                f"guest: --file wants HOST:GUEST[:mode] with a path that exists here, not '{spec}'"
            )
        extra.add_host_file(path, name, int(mode, 8) if mode else None)
    extra.writer.close()
