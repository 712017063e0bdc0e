#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""headers_alone.py ROOT COMPILER [--draw N]: each public header of core, faces and model compiles
with nothing before it. --draw: N of them."""
import argparse
import pathlib
import sys

import toolchain


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("compiler")
    parser.add_argument("--draw", type=int)
    arguments = parser.parse_args()
    root, compiler = arguments.root, arguments.compiler
    toolchain.need(compiler)
    folders = [f"{library}/include" for library in toolchain.CORE + toolchain.FACES] + [
        "hal/layouts/include",
        "qemu/model/include",
    ]
    headers = [h for folder in folders for h in sorted(pathlib.Path(root, folder).rglob("*.hpp"))]
    if not headers:
        sys.exit("no headers found")
    count = len(headers)
    if arguments.draw:
        headers = toolchain.drawn(headers, arguments.draw)
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
    print(f"{len(headers)} of {count} headers compile alone with {compiler}")


main()
