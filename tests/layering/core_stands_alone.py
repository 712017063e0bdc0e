#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""core_stands_alone.py ROOT FOLDER [--draw N] COMPILER.release|COMPILER.debug...: for each of these
kinds, or for N of them:

The core's libraries, every public template, a user of co_await and a port that does nothing, linked
by ld -r: no undefined symbol but the four memory functions; no constructors before main, no
thread-local storage. The core sees no header of a face and needs none of their symbols; the same
holds of core and faces together. The sources of a folder are compiled as one: source by source this
takes several times as long."""
import argparse
import os
import pathlib
import re
import subprocess
import sys

import toolchain

MEMORY = {"memcpy", "memmove", "memset", "memcmp"}
FORBIDDEN_SECTIONS = re.compile(r"\s(\.init_array|\.ctors|\.tdata|\.tbss|\.preinit_array)\S*\s")
OPTIMISATION = {"release": ["-O2", "-g1", "-DNDEBUG"], "debug": ["-O0"]}
# As the CMakeLists.txt of hca and faces/interfaces have it.
APART = re.compile(r"/interfaces/|/pci_function\.cpp$")
LAYOUT = re.compile(r"^struct (\w+)(?: : [^{]*)?\{\s*\n\s*static constexpr std::size_t bytes", re.M)
FAMILY = re.compile(r"^(?:using|struct) (\w+)\s*[=:]\s*(?:family|modify_qp)<", re.M)
TEMPLATE = re.compile(
    r"^template <[^\n]*>\s*\n(?:\s*requires [^\n]*\n)?\s*(?:class|struct) (\w+)\b(?! *<)", re.M
)


def public_headers(root, library):
    folder = "hal/layouts/include" if library == "layouts" else f"{library}/include"
    return sorted(pathlib.Path(root, folder).rglob("*.hpp"))


def without_details(text):
    """The text without what stands in a namespace detail."""
    return re.sub(
        r"^namespace (?:\w+::)*detail \{.*?^\}  // namespace (?:\w+::)*detail",
        "",
        text,
        flags=re.M | re.S,
    )


def name_in(header):
    return header.as_posix().split("/include/", 1)[1]


def instances(root):
    """A source file that instantiates every table and every command family."""
    lines, count = [], 0
    for library, pattern, shape in (
        ("layouts", LAYOUT, "template class freehca::layouts::image<freehca::layouts::{}>;"),
        (
            "firmware_cmds",
            FAMILY,
            "template class freehca::firmware_command<freehca::commands::{}>;",
        ),
    ):
        for header in public_headers(root, library):
            lines.append(f"#include <{name_in(header)}>")
        for header in public_headers(root, library):
            text = without_details(header.read_text(encoding="utf-8"))
            for match in pattern.finditer(text):
                if text[: match.start()].rstrip().endswith(">"):
                    continue  # a template itself: every_template.cpp has it
                if library == "layouts" and enclosed(text, match.start()):
                    continue
                lines.append(shape.format(match.group(1)))
                count += 1
    return "\n".join(lines) + "\n", count


def enclosed(text, at):
    """Whether the place is inside another namespace than freehca::layouts."""
    inner = re.findall(r"^(?:namespace (\w+) \{|\}  // namespace (\w+)$)", text[:at], re.M)
    return sum(1 if opened else -1 for opened, _ in inner) > 0


def templates_left_out(root, covered):
    missing = []
    for library in toolchain.CORE + toolchain.FACES:
        for header in public_headers(root, library):
            for name in TEMPLATE.findall(without_details(header.read_text(encoding="utf-8"))):
                if not re.search(rf"\b{name}\b", covered):
                    missing.append(f"{name_in(header)}: {name}")
    return missing


def folder_by_folder(sources, folder, name):
    """One source for each folder of sources, and those that cannot be compiled with others: they
    have names of their own that others have too (freehca_apart in cmake/few_files.cmake)."""
    apart = [s for s in sources if APART.search(s.as_posix())]
    together = {}
    for source in sources:
        if source not in apart:
            together.setdefault(source.parent, []).append(source)
    written = []
    for number, group in enumerate(together.values()):
        file = pathlib.Path(folder, f"{name}_{number}.cpp")
        file.write_text("".join(f'#include "{s}"\n' for s in group), encoding="utf-8")
        written.append(file)
    return written + apart


def need_of(what, objects, whole, prefix):
    """The symbols that the objects need together, which may be the memory functions only."""
    subprocess.run([f"{prefix}ld", "-r", "-o", whole, *objects], check=True)
    undefined = subprocess.run(
        [f"{prefix}nm", "-u", "-C", whole], capture_output=True, text=True, check=True
    ).stdout
    wanted = {line.split(None, 1)[1].strip() for line in undefined.splitlines() if line.strip()}
    # The table of addresses of position-independent code, which the final link makes.
    wanted.discard("_GLOBAL_OFFSET_TABLE_")
    sections = subprocess.run(
        [f"{prefix}objdump", "-h", "-w", whole], capture_output=True, text=True, check=True
    ).stdout
    if wanted - MEMORY:
        sys.exit(f"{what} needs: " + ", ".join(sorted(wanted - MEMORY)))
    if FORBIDDEN_SECTIONS.search(sections):
        sys.exit(f"{what}: constructors before main, or thread-local storage:\n" + sections)
    return wanted


def check(root, folder, kind):
    compiler, build = kind.rsplit(".", 1)
    toolchain.need(compiler)
    os.makedirs(folder, exist_ok=True)
    stamp = toolchain.Stamp(
        f"{folder}/passed",
        compiler,
        [pathlib.Path(root, library) for library in toolchain.CORE + toolchain.FACES],
        build,
    )
    if stamp.passed_before():
        return
    here = pathlib.Path(__file__).parent
    generated, count = instances(root)
    instance_file = pathlib.Path(folder, "every_instance.cpp")
    instance_file.write_text(generated, encoding="utf-8")
    companions = sorted((here / "core").glob("*.cpp"))
    users_of_faces = sorted((here / "faces").glob("*.cpp"))
    covered = generated + "".join(
        c.read_text(encoding="utf-8") for c in companions + users_of_faces
    )
    missing = templates_left_out(root, covered)
    if missing:
        sys.exit(
            "templates that every_template.cpp of tests/layering/core or /faces leaves out:\n"
            + "\n".join(missing)
        )

    def sources_of(libraries, name):
        sources = [
            s
            for library in libraries
            for s in sorted(pathlib.Path(root, library, "src").rglob("*.cpp"))
        ]
        return folder_by_folder(sources, folder, name), len(sources)

    core, count_of_core = sources_of(toolchain.CORE, "core")
    faces, count_of_faces = sources_of(toolchain.FACES, "faces")
    flags = toolchain.freestanding(compiler, *OPTIMISATION[build])
    objects, commands = [], []

    def compiled(sources, includes):
        for source in sources:
            # Counted: a kind and its interface have files of one name.
            objects.append(f"{folder}/{len(objects)}.{source.stem}.o")
            commands.append(
                toolchain.object_command(root, compiler, flags + includes, source, objects[-1])
            )

    compiled([*core, *companions, instance_file], toolchain.includes(root))
    of_core = len(objects)
    compiled([*faces, *users_of_faces], toolchain.includes_of_faces(root))
    toolchain.run_all(commands)
    prefix = compiler[: -len("g++")] if compiler.endswith("-g++") else ""
    wanted = need_of("the core", objects[:of_core], f"{folder}/core.o", prefix)
    need_of("core and faces", objects, f"{folder}/faces.o", prefix)
    stamp.passed(
        f"{compiler} {build}: {count_of_core} sources and {count_of_faces} of faces, "
        f"{count} tables and command families, "
        f"undefined: {' '.join(sorted(wanted)) or 'nothing'}"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("folder")
    parser.add_argument("--draw", type=int)
    parser.add_argument("kinds", nargs="+")
    arguments = parser.parse_args()
    kinds = arguments.kinds
    if arguments.draw:
        kinds = toolchain.drawn(kinds, arguments.draw)
    for kind in kinds:
        check(arguments.root, f"{arguments.folder}.{kind}", kind)


main()
