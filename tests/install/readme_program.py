#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""readme_program.py ROOT: README.md opens with the program examples/write_once/main.cpp, without
the lines of its licence, and it has at most forty lines."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
readme = (root / "README.md").read_text(encoding="utf-8")
program = (root / "examples/write_once/main.cpp").read_text(encoding="utf-8").splitlines()[3:]
block = re.search(r"```(\w*)\n(.*?)\n```", readme, re.S)
if block is None or block.group(1) != "cpp":
    sys.exit("the first block of README.md is no program")
if block.group(2).splitlines() != program:
    sys.exit("README.md and examples/write_once/main.cpp differ")
if len(program) > 40:
    sys.exit(f"the program has {len(program)} lines")
if "#" in readme[: block.start()].lstrip("# "):
    sys.exit("README.md does not open with the program")
print(f"{len(program)} lines")
