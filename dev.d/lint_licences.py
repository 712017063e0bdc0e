#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Checks that every tracked source carries its licence: GPL-2.0-or-later where it links into QEMU
(qemu/qom), BSD-2-Clause everywhere else; and that both licences stand in LICENSES."""
import os
import subprocess
import sys

SUFFIXES = (
    ".cpp",
    ".hpp",
    ".c",
    ".h",
    ".py",
    ".sh",
    ".cmake",
    "CMakeLists.txt",
    "meson.build",
    "Kconfig",
)
COPYRIGHT = "Copyright the freehca authors"


def is_source(path):
    if path.endswith(SUFFIXES):
        return True
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def main():
    wrong = [
        f"LICENSES/{name}.txt is missing"
        for name in ("BSD-2-Clause", "GPL-2.0-or-later")
        if not os.path.exists(f"LICENSES/{name}.txt")
    ]
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], check=True, capture_output=True, text=True
    ).stdout
    count = 0
    for path in tracked.split("\0"):
        if not path or not os.path.isfile(path) or not is_source(path):
            continue
        count += 1
        licence = "GPL-2.0-or-later" if path.startswith("qemu/qom/") else "BSD-2-Clause"
        with open(path, encoding="utf-8") as file:
            head = "".join(file.readline() for _ in range(6))
        if f"SPDX-License-Identifier: {licence}" not in head:
            wrong.append(f"{path}: its first lines lack SPDX-License-Identifier: {licence}")
        elif COPYRIGHT not in head:
            wrong.append(f"{path}: its first lines lack '{COPYRIGHT}'")
    print("\n".join(wrong))
    print(f"{count} sources looked at, {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
