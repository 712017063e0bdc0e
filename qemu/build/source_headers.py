#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""source_headers.py PACKAGE FOLDER: unpacks the headers and generators of QEMU from a Debian source
package (the folder PACKAGE has its .dsc and tarballs) into FOLDER, with Debian's patches to them.

The rest of the source, which is most of it, is neither unpacked nor patched: no part of QEMU is
compiled, but for accel/qtest.
"""
import glob
import os
import re
import subprocess
import sys

# Of the source's first level; a folder with all below it.
FILES = ("VERSION", "accel/qtest", "include", "qapi", "scripts", "trace")


def is_needed(path):
    return any(path == name or path.startswith(name + "/") for name in FILES)


def one(pattern):
    found = glob.glob(pattern)
    if len(found) != 1:
        sys.exit(f"source_headers.py: {len(found)} files are named {pattern}, and not one")
    return found[0]


def unpack(tarball, folder, names):
    """The names are patterns whose * stands for one folder at most."""
    subprocess.run(
        ["tar", "-xf", tarball, "-C", folder, "--no-same-owner", "--wildcards"]
        + ["--no-wildcards-match-slash", *names],
        check=True,
    )


def needed_part(patch):
    """The sections of a patch that change files which are needed."""
    kept, section = [], []

    def end_section():
        for line in section:
            if line.startswith(b"@@ "):
                return
            match = re.match(rb"(?:---|\+\+\+) [^/\s]+/(\S+)", line)
            if match and is_needed(os.fsdecode(match.group(1))):
                kept.extend(section)
                return

    git = re.search(rb"^diff --git ", patch, re.MULTILINE)
    lines = patch.splitlines(keepends=True)
    left = 0  # lines of the hunk that are still to come
    for at, line in enumerate(lines):
        hunk = re.match(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", line)
        if left > 0:
            left -= {b" ": 2, b"\n": 2, b"-": 1, b"+": 1}.get(line[:1], 0)
        elif hunk:
            left = sum(1 if count is None else int(count) for count in hunk.groups())
        elif line.startswith(b"diff --git ") or (
            not git and line.startswith(b"--- ") and lines[at + 1 : at + 2][0][:4] == b"+++ "
        ):
            end_section()
            section = []
        section.append(line)
    end_section()
    return b"".join(kept)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    package, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    original = one(os.path.join(package, "*.orig.tar.*[!c]"))
    unpack(original, folder, [f"*/{name}" for name in FILES])
    (top,) = os.listdir(folder)
    for name in os.listdir(os.path.join(folder, top)):
        os.rename(os.path.join(folder, top, name), os.path.join(folder, name))
    os.rmdir(os.path.join(folder, top))

    unpack(one(os.path.join(package, "*.debian.tar.*")), folder, ["debian/patches"])
    patches = os.path.join(folder, "debian", "patches")
    count = 0
    with open(os.path.join(patches, "series"), encoding="utf-8") as file:
        names = [line.split("#")[0].split() for line in file]
    for words in names:
        if not words:
            continue
        with open(os.path.join(patches, words[0]), "rb") as file:
            part = needed_part(file.read())
        if part:
            count += 1
            subprocess.run(
                ["patch", "-p1", "-s", "-f", "-E", "-N", "-d", folder, "--no-backup-if-mismatch"],
                input=part,
                check=True,
            )
    print(f"{os.path.basename(original)}: {count} of {len(names)} lines of patches concern it")


if __name__ == "__main__":
    main()
