#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""sanitized.py TREE ARCHIVE BINARY: QEMU as TREE/build has it, but with the glue compiled with the
address sanitizer and with ARCHIVE, the model built with clang's sanitizers. QEMU's own code is left
as it is, which spares compiling it: what it frees is poisoned all the same, and glue and model are
who is watched."""
import os
import re
import shlex
import subprocess
import sys

GLUE = re.compile(r"/hw/freehca/qom/[a-z0-9_]+\.c$")
CFLAGS = ["-fsanitize=address", "-fno-omit-frame-pointer", "-g1", "-O1", "-w"]
# fuzzer-no-link: the archive is the fuzzers' own, with their counters.
LDFLAGS = ["-fsanitize=address,undefined,fuzzer-no-link"]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    tree, archive, binary = (os.path.abspath(word) for word in sys.argv[1:])
    build, folder = os.path.join(tree, "build"), os.path.dirname(binary)
    os.makedirs(folder, exist_ok=True)
    listed = subprocess.run(
        ["ninja", "-C", build, "-t", "commands", "qemu-system-x86_64"],
        check=True,
        text=True,
        capture_output=True,
    ).stdout.splitlines()
    commands = [shlex.split(line) for line in listed if not line.startswith("ninja:")]
    replaced = {}
    for words in commands:
        if "-c" not in words or not GLUE.search(words[words.index("-c") + 1]):
            continue
        at = words.index("-o") + 1
        replaced[words[at]] = os.path.join(folder, os.path.basename(words[at]))
        words[at] = replaced[words[at]]
        for option in ("-MQ", "-MF"):
            if option in words:
                del words[words.index(option) : words.index(option) + 2]
        subprocess.run(
            ["clang", *(word for word in words[1:] if word not in ("-MD", "-MMD")), *CFLAGS],
            cwd=build,
            check=True,
        )
    if not replaced:
        sys.exit("sanitized.py: the tree compiles no glue")
    link = [
        replaced.get(word, archive if word.endswith("libfreehca_model.a") else word)
        for word in commands[-1][1:]
    ]
    link[link.index("-o") + 1] = binary
    subprocess.run(["clang++", *LDFLAGS, *link], cwd=build, check=True)
    print(f"{len(replaced)} files of glue: {binary}")


if __name__ == "__main__":
    main()
