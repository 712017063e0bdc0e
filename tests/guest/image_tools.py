#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""image_tools.py DEBS PACKAGES_TXT STAGE: lays out the guest's user space in the folder STAGE.

DEBS holds the packages with all that they depend on. Taken are the files that PACKAGES_TXT names and
the libraries that those need; the rest (perl, package management, documentation) stays out.
"""
import fnmatch
import glob
import os
import shutil
import subprocess
import sys

import elf

# Debian's packages still use both spellings; the guest has one, with links for the other.
MERGED = ("bin", "sbin", "lib", "lib64")
RUNS_OR_CONFIGURES = (
    "usr/bin/*",
    "usr/sbin/*",
    "usr/lib/*",
    "etc/*",
    "usr/share/misc/*",
    "usr/lib64/*",
)
NEVER = (
    "*.a",
    "*.la",
    "*/systemd/*",
    "etc/init.d/*",
    "etc/default/*",
    "etc/cron*",
    "etc/logrotate.d/*",
    "etc/udev/*",
    "usr/lib/udev/*",
    "*/bash-completion/*",
    "etc/network/*",
    "*/pkgconfig/*",
)


def unpack(debs, folder):
    """Unpacks each package into a folder of its own, all in the merged layout; returns name ->
    folder."""
    result = {}
    for deb in sorted(glob.glob(os.path.join(debs, "*.deb"))):
        name = os.path.basename(deb).split("_")[0]
        target = os.path.join(folder, name)
        subprocess.run(["dpkg-deb", "-x", deb, target], check=True)
        for top in MERGED:
            old = os.path.join(target, top)
            if os.path.isdir(old) and not os.path.islink(old):
                shutil.copytree(
                    old, os.path.join(target, "usr", top), symlinks=True, dirs_exist_ok=True
                )
                shutil.rmtree(old)
        result[name] = target
    return result


def files_of(folder, patterns):
    for path, _, names in os.walk(folder):
        for name in names:
            file = os.path.relpath(os.path.join(path, name), folder)
            if any(fnmatch.fnmatch(file, pattern) for pattern in patterns) and not any(
                fnmatch.fnmatch(file, pattern) for pattern in NEVER
            ):
                yield file


def wanted_files(packages_txt, folders):
    """(folder, file) of what packages.txt asks for."""
    with open(packages_txt, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    for name, *patterns in lines:
        if name not in folders:
            sys.exit(f"image_tools: package {name} was not downloaded")
        found = sorted(files_of(folders[name], patterns or RUNS_OR_CONFIGURES))
        yield from ((folders[name], file) for file in found)


class Stage:
    def __init__(self, stage, folders):
        self.stage = stage
        self.folders = folders
        self.missing = set()

    def add(self, folder, file):
        target = os.path.join(self.stage, file)
        if os.path.lexists(target):
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        source = os.path.join(folder, file)
        shutil.copy2(source, target, follow_symlinks=False)
        if os.path.islink(source):
            link = os.readlink(source)
            behind = os.path.normpath(os.path.join("/", os.path.dirname(file), link))[1:]
            for top in MERGED:
                if behind.startswith(top + "/"):
                    behind = "usr/" + behind
            for other in self.folders.values():
                if os.path.isfile(os.path.join(other, behind)):
                    self.add(other, behind)
        else:
            for name in elf.needed(source):
                self.add_library(name)

    def add_library(self, name):
        for folder in self.folders.values():
            # The interpreter is asked for by its unmerged path.
            path = elf.find_library("/usr" + name if name.startswith("/") else name, folder)
            if path:
                self.add(folder, os.path.relpath(path, folder))
                return
        self.missing.add(name)


def add_busybox(stage):
    """A link for each of busybox's tools that nothing else in the image provides."""
    busybox = os.path.join(stage, "usr/bin/busybox")
    for name in subprocess.run(
        [busybox, "--list"], check=True, capture_output=True, text=True
    ).stdout.split():
        if not any(
            os.path.lexists(os.path.join(stage, "usr", folder, name)) for folder in ("bin", "sbin")
        ):
            os.symlink("busybox", os.path.join(stage, "usr/bin", name))


def main():
    debs, packages_txt, stage = sys.argv[1:4]
    scratch = stage + ".packages"
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    folders = unpack(debs, scratch)
    os.makedirs(stage)
    for folder in (
        "dev",
        "proc",
        "sys",
        "run",
        "tmp",
        "root",
        "etc",
        "mnt",
        "usr/bin",
        "usr/sbin",
        "usr/lib",
        "usr/lib64",
        "var/log",
        "var/cache",
        "var/lib",
    ):
        os.makedirs(os.path.join(stage, folder), exist_ok=True)
    for top in MERGED:
        os.symlink("usr/" + top, os.path.join(stage, top))
    os.symlink("../run", os.path.join(stage, "var/run"))
    layout = Stage(stage, folders)
    for folder, file in wanted_files(packages_txt, folders):
        layout.add(folder, file)
    if layout.missing:
        sys.exit("image_tools: no package brings " + " ".join(sorted(layout.missing)))
    if os.path.exists(os.path.join(stage, "usr/bin/busybox")):
        # Scripts expect Debian's shell; busybox's prefers its own tools to those in the PATH.
        sh = os.path.join(stage, "usr/bin/sh")
        if os.path.lexists(sh):
            os.remove(sh)
        os.symlink("dash", sh)
        add_busybox(stage)
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
