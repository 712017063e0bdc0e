#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""boot.py --qemu QEMU ARCHITECTURE IMAGE [--machine NAME] [--append WORDS] [-- QEMU ARGUMENTS]:
boots an image with the modelled adapter, shows its serial line, and ends with status 0 if it
passed. With arguments for QEMU the adapter is theirs to name. On a terminal what is typed goes to
the image. With --check in place of --qemu it only checks the words: status 2 if one is wrong."""
import argparse
import sys

import machines


def main():
    own, more = sys.argv[1:], ()
    if "--" in own:
        more = tuple(own[own.index("--") + 1 :])
        own = own[: own.index("--")]
    options = argparse.ArgumentParser(
        prog="./dev bare",
        usage="./dev bare --help",
        allow_abbrev=False,
    )
    task = options.add_mutually_exclusive_group(required=True)
    task.add_argument("--qemu")
    task.add_argument("--check", action="store_true")
    options.add_argument("architecture", choices=sorted(machines.MACHINES))
    options.add_argument("image")
    options.add_argument("--machine", help="the first one is the usual one")
    options.add_argument("--append", default="", help="words for the image")
    asked = options.parse_args(own)
    kinds = machines.MACHINES[asked.architecture]
    name = asked.machine or next(iter(kinds))
    if name not in kinds:
        options.error(f"no machine '{name}'; there are: {' '.join(kinds)}")
    if asked.check:
        return
    run = machines.Run(
        kinds[name],
        asked.qemu,
        machines.image_file(asked.architecture, asked.image),
        more or machines.ADAPTERS.get(asked.image, machines.ADAPTER),
        asked.append,
    ).run(lambda _, line: print(line, flush=True), by_hand=sys.stdin.isatty())
    sys.stderr.write(run.errors)
    if run.status < 0:
        sys.exit(f"bare: it was ended after {machines.LIMIT_SECONDS} s")
    sys.exit(0 if run.passed else 1)


main()
