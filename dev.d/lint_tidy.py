#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""lint_tidy.py BUILD_FOLDER SOURCE...: clang-tidy on each source, as many at a time as there are
processors.

Sources that the build folder does not compile (compile-fail cases, other processors' code) are left
out.
"""
import concurrent.futures
import json
import os
import subprocess
import sys


def check(build, source):
    run = subprocess.run(
        ["nice", "clang-tidy", "--quiet", "-p", build, source],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return source, run.returncode, run.stdout


def main():
    build, *sources = sys.argv[1:]
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        compiled = {
            os.path.realpath(os.path.join(entry["directory"], entry["file"]))
            for entry in json.load(file)
        }
    wanted = [source for source in sources if os.path.realpath(source) in compiled]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (source, status, text) in enumerate(
            pool.map(lambda name: check(build, name), wanted), 1
        ):
            print(
                f"[{done}/{len(wanted)}] {source}{'' if status == 0 else ': complaints'}",
                flush=True,
            )
            if status:
                failed += 1
                print(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
