#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""files_exports.py OBJECT LIST: the preloaded object exports the names of LIST and no others, and
needs no library but those of the C library."""
import subprocess
import sys


def main():
    shared_object, names_file = sys.argv[1:]
    table = subprocess.check_output(
        ["nm", "--dynamic", "--defined-only", "--format=posix", shared_object], text=True
    )
    exported = {line.split()[0] for line in table.splitlines() if line.split()[1] in "TWDBV"}
    with open(names_file, encoding="utf-8") as file:
        listed = set(file.read().split())
    missing, others = listed - exported, exported - listed
    headers = subprocess.check_output(["readelf", "--dynamic", shared_object], text=True)
    needed = [line for line in headers.splitlines() if "(NEEDED)" in line]
    strange = [line for line in needed if "[libc.so" not in line and "[ld-linux" not in line]
    if missing or others or strange or not listed:
        sys.exit(f"missing: {missing}; not listed: {others}; libraries: {strange}")
    print(f"{len(listed)} names")


main()
