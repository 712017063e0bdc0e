#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""headers_alone.py ROOT COMPILER STAMP: each public header of core, faces and model compiles with
nothing before it."""
import pathlib
import sys

import toolchain


def main():
    root, compiler, stamp_file = sys.argv[1:]
    toolchain.need(compiler)
    folders = [f"{library}/include" for library in toolchain.CORE + toolchain.FACES] + [
        "hal/layouts/include",
        "qemu/model/include",
    ]
    stamp = toolchain.Stamp(stamp_file, compiler, [pathlib.Path(root, f) for f in folders])
    stamp.leave_if_passed()
    headers = [h for folder in folders for h in sorted(pathlib.Path(root, folder).rglob("*.hpp"))]
    flags = toolchain.freestanding(compiler) + toolchain.includes_of_faces(root)
    flags += ["-I", f"{root}/qemu/model/include"]
    # The model is hosted: its headers may use the C++ library, which -ffreestanding does not hide.
    toolchain.run_all(
        [
            [
                compiler,
                *flags,
                "-Wno-unused-function",
                "-fsyntax-only",
                "-x",
                "c++",
                "-include",
                str(h),
                "/dev/null",
            ]
            for h in headers
        ]
    )
    if not headers:
        sys.exit("no headers found")
    stamp.passed(f"{len(headers)} headers compile alone with {compiler}")


main()
