# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What the tests of this folder share: flags, include paths, parallel compilation, skipping."""
import concurrent.futures
import os
import shutil
import subprocess
import sys

CORE = ("hal", "firmware_cmds", "queues", "hca")
WARNINGS = ("-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wundef "
            "-Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Werror").split()
SKIPPED = 77


def need(compiler):
    if shutil.which(compiler) is None:
        print(f"SKIPPED: no {compiler} on this machine")
        sys.exit(SKIPPED)


def freestanding(compiler):
    flags = "-std=c++20 -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics".split()
    if "clang" in compiler:
        flags.append("-D__cpp_impl_coroutine=201902L")
    return flags + WARNINGS


def includes(root, *more):
    folders = [f"{root}/{library}/include" for library in CORE] + [f"{root}/hal/layouts/include", *more]
    return [flag for folder in folders for flag in ("-I", folder)]


def run_all(commands):
    """Runs them side by side; ends the program with what the first failures said."""
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1))) as pool:
        done = list(pool.map(lambda c: subprocess.run(c, capture_output=True, text=True, check=False), commands))
    failed = [(c, d) for c, d in zip(commands, done) if d.returncode != 0]
    for command, result in failed[:3]:
        said = (result.stdout + result.stderr).splitlines()
        print(" ".join(command), *said[:20], sep="\n")
    if failed:
        sys.exit(f"{len(failed)} of {len(commands)} failed")
