#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""flavours_do_not_mix.py ROOT COMPILER DIRECT ROUTED FOLDER: an object that was compiled for one
access flavour cannot be linked with the core of another, and the error says so; nor can two cores
be linked together. DIRECT and ROUTED are the archives of hal. That costs the core no byte."""
import pathlib
import re
import subprocess
import sys

NAME = "freehca_core_was_built_with_another_access_flavour"
FLAGS = {
    "direct": [],
    "routed": ["-DFREEHCA_ACCESS_ROUTED=1"],
    "registers_routed": ["-DFREEHCA_ACCESS_REGISTERS_ROUTED=1"],
    "direct_with_incoherent_dma": ["-DFREEHCA_INCOHERENT_DMA=1"],
}
# Each of these headers has something of its flavour in it.
HEADERS = ["mmio", "dma", "barrier", "cache"]
SECTION_IN_MEMORY = re.compile(r"^\s*\d+ \S+\s+([0-9a-f]+)\s.*\n\s+.*\bALLOC\b", re.M)


def run(*command):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )


def bytes_in_memory(file):
    told = run("objdump", "-h", file).stdout
    return sum(int(size, 16) for size in SECTION_IN_MEMORY.findall(told))


def main():
    root, compiler, direct, routed = sys.argv[1:5]
    folder = pathlib.Path(sys.argv[5])
    folder.mkdir(parents=True, exist_ok=True)
    includes = [f"-I{root}/hal/include", f"-I{root}/hal/layouts/include"]
    cores = {"direct": direct, "routed": routed}
    wrong = []

    def compiled(name, text, flags):
        source, to = folder / f"{name}.cpp", folder / f"{name}.o"
        source.write_text(text, encoding="utf-8")
        done = run(compiler, "-std=c++20", *includes, *flags, "-c", source, "-o", to)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return to

    def expect(link, text):
        done = run(compiler, "-o", folder / "program", *link)
        if text is None and done.returncode != 0:
            wrong.append(f"{link}: {done.stderr}")
        elif text is not None and (done.returncode == 0 or text not in done.stderr):
            wrong.append(f"{link}: no '{text}': status {done.returncode}: {done.stderr}")

    start = compiled("start", "int main() {}\n", [])
    for header in HEADERS:
        text = f"#include <freehca/hal/{header}.hpp>\nnamespace freehca {{ int user; }}\n"
        for flavour, flags in FLAGS.items():
            user = compiled(f"{header}_{flavour}", text, flags)
            for core, archive in cores.items():
                wanted = None if flavour == core else f"`{NAME}__this_object_is_{flavour}'"
                expect([start, user, archive], wanted)
                expect([start, user, archive, "-Wl,--gc-sections"], wanted)
            plain = compiled(f"plain_{header}_{flavour}", "namespace freehca { int user; }\n", [])
            if bytes_in_memory(user) != bytes_in_memory(plain):
                wrong.append(f"{user} is larger than {plain}")
    both = [folder / "mmio_direct.o", folder / "mmio_routed.o"]
    expect([start, *both, *cores.values()], f"multiple definition of `{NAME}'")
    # What implements the HAL and accesses nothing goes with each.
    port = "#include <freehca/hal/platform.hpp>\nfreehca::platform_operations port;\n"
    for archive in cores.values():
        expect([start, compiled("port", port, []), archive], None)
    definition = compiled(
        "definition",
        pathlib.Path(root, "hal/src/access_flavour.cpp").read_text(encoding="utf-8"),
        ["-ffreestanding"],
    )
    if bytes_in_memory(definition) != 0:
        wrong.append("the definition takes bytes")
    print(*wrong, sep="\n")
    print(f"{len(HEADERS) * len(FLAGS)} objects, {len(cores)} cores, {len(wrong)} surprises")
    sys.exit(1 if wrong else 0)


main()
