#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""graft.py QEMU_SOURCE CHECKOUT [ARCHIVE]: puts the device's glue into a QEMU source tree.

The tree gains hw/freehca: our generated meson.build and Kconfig, qom/ (the checkout's qemu/qom)
with its trace events, include/ (the model's public headers) and the model's archive. With no
qemu/qom/meson.build or no archive it gains an empty folder. Files that are unchanged are left
alone, so that ninja rebuilds only what changed.
"""
import os
import shutil
import sys


def write_if_changed(path, data):
    try:
        with open(path, "rb") as file:
            if file.read() == data:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def mirror(source, target):
    """Makes target a copy of the files below source, and removes what is there too much."""
    kept = set()
    for folder, _, names in os.walk(source):
        for name in names:
            path = os.path.join(folder, name)
            copy = os.path.join(target, os.path.relpath(path, source))
            kept.add(copy)
            with open(path, "rb") as file:
                write_if_changed(copy, file.read())
    for folder, _, names in os.walk(target):
        for name in names:
            if os.path.join(folder, name) not in kept:
                os.remove(os.path.join(folder, name))


def add_below(path, line, addition):
    """Adds a line below the first that is `line`."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if addition not in lines:
        lines.insert(lines.index(line) + 1, addition)
        write_if_changed(path, "\n".join(lines).encode())


def add_line(path, line):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if line not in text.split("\n"):
        write_if_changed(path, (text.rstrip("\n") + "\n" + line + "\n").encode())


MESON = """\
# Generated. qom/meson.build finds here:
#   freehca_model: a dependency that brings the model's headers and links its archive (C++ inside, C
#   outside).
# The archive goes in as link arguments because QEMU's own build has no C++ from 10.0 on.
freehca_model = declare_dependency(
  include_directories: include_directories('include'),
  link_args: ['@ARCHIVE@', '-lstdc++'])
subdir('qom')
"""


def main():
    tree, checkout = sys.argv[1:3]
    archive = sys.argv[3] if len(sys.argv) > 3 else None
    ours = os.path.join(tree, "hw", "freehca")
    glue = os.path.join(checkout, "qemu", "qom")
    meson, kconfig = "# Generated: no device.\n", "# Generated: no device.\n"
    if archive and os.path.exists(os.path.join(glue, "meson.build")):
        mirror(glue, os.path.join(ours, "qom"))
        mirror(os.path.join(checkout, "qemu", "model", "include"), os.path.join(ours, "include"))
        own_archive = os.path.join(ours, "libfreehca_model.a")
        with open(archive, "rb") as file:
            write_if_changed(own_archive, file.read())
        meson = MESON.replace("@ARCHIVE@", own_archive)
        kconfig = "source qom/Kconfig\n"
    elif os.path.isdir(os.path.join(ours, "qom")):
        shutil.rmtree(os.path.join(ours, "qom"))
    write_if_changed(os.path.join(ours, "meson.build"), meson.encode())
    write_if_changed(os.path.join(ours, "Kconfig"), kconfig.encode())
    add_line(os.path.join(tree, "hw", "meson.build"), "subdir('freehca')")
    # QEMU's build makes the trace events of each folder in this list; the file has to be there.
    trace_events = os.path.join(glue, "trace-events")
    with open(
        trace_events if archive and os.path.exists(trace_events) else os.devnull, "rb"
    ) as file:
        write_if_changed(os.path.join(ours, "trace-events"), file.read())
    add_below(os.path.join(tree, "meson.build"), "trace_events_subdirs = [", "  'hw/freehca',")
    add_line(os.path.join(tree, "hw", "Kconfig"), "source freehca/Kconfig")


if __name__ == "__main__":
    main()
