#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""size.py FOLDER: how large the core is. Of each module the lines of its headers and sources
without comments and blanks, and the bytes of its code and constants (.text and .rodata, unwind
tables apart) at -Os on x86-64; the same of all modules linked together, and of a program that links
only what it calls (smallest.cpp). FOLDER takes the objects.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "layering"))
import toolchain

COMPILER = "g++"
# Of each row: its folders of headers and sources. Those apart are not in the sums: layouts are
# tables of the hardware's formats, targets are ports.
MODULES = {
    "hal": ["hal/include", "hal/src"],
    "firmware_cmds": ["firmware_cmds"],
    "queues": ["queues"],
    "hca": ["hca"],
}
APART = {"hal/layouts": ["hal/layouts"], "hal/targets": ["hal/targets"]}
# Commands and requests that the core itself does not send. A verbs library needs them. They have a
# row of their own and are not in the row of their module, nor in the sum.
WAITING = [
    *(
        f"firmware_cmds/include/freehca/firmware_cmds/{name}.hpp"
        for name in ("object_contexts", "port_settings", "qp_transitions")
    ),
    *(f"queues/include/freehca/queues/{name}.hpp" for name in ("blueflame", "xrc_requests")),
]
GOALS = {"lines": 9000, "core": 64 * 1024, "smallest": 48 * 1024}
# A string, a character, or a comment, whichever begins first; raw strings before plain ones.
TOKEN = re.compile(
    r"""R"(?P<end>[^()\\ ]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'"""
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)",
    re.S,
)


def lines_of(file):
    text = TOKEN.sub(
        lambda m: "\n" * m[0].count("\n") if m["comment"] else m[0],
        file.read_text(encoding="utf-8"),
    )
    return sum(1 for line in text.split("\n") if line.strip())


def lines(folders):
    waiting = {ROOT / name for name in WAITING}
    return sum(
        lines_of(file)
        for folder in folders
        for file in (ROOT / folder).rglob("*.[ch]pp")
        if file not in waiting
    )


def code_bytes(file):
    """Of an object or a program."""
    told = subprocess.run(
        ["size", "-A", "-d", file], capture_output=True, text=True, check=True
    ).stdout
    return sum(
        int(found[2]) for found in re.finditer(r"^\.(text|rodata)\S*\s+(\d+)\s", told, re.MULTILINE)
    )


def joined(objects, to):
    """One object of many: an inline function that several of them have is in it once."""
    subprocess.run(["ld", "-r", "-o", to, *objects], check=True)
    return to


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    toolchain.need(COMPILER)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    # No position-independent code, whose tables of pointers are not in .rodata.
    flags = [*toolchain.freestanding(COMPILER), "-Os", "-DNDEBUG", "-fno-pie"]
    flags += ["-ffunction-sections", "-fdata-sections", "-fno-asynchronous-unwind-tables"]
    flags += ["-fno-stack-protector", "-fcf-protection=none", *toolchain.includes(ROOT)]
    objects, commands = {name: [] for name in MODULES}, []

    def compiled(source, to, *more):
        commands.append(
            [*toolchain.cached(ROOT), COMPILER, *flags, *more, "-c", "-o", to, str(source)]
        )
        return to

    for name in MODULES:
        for source in sorted((ROOT / name / "src").rglob("*.cpp")):
            parts = "_".join(source.relative_to(ROOT / name / "src").with_suffix(".o").parts)
            objects[name].append(compiled(source, f"{folder}/{name}.{parts}"))
    # memcpy() must not become a call of itself.
    smallest = compiled(
        ROOT / "bench/size/smallest.cpp",
        f"{folder}/smallest.o",
        "-fno-tree-loop-distribute-patterns",
    )
    toolchain.run_all(commands)
    everything = [object_file for name in MODULES for object_file in objects[name]]
    program = f"{folder}/smallest"
    subprocess.run(
        [COMPILER, "-nostdlib", "-static", "-no-pie", "-Wl,--gc-sections,--build-id=none"]
        + ["-o", program, smallest, *everything],
        check=True,
    )

    print(f"{'module':<34} {'lines':>7} {'bytes of code':>14}")
    total = 0
    for name, folders in MODULES.items():
        count = lines(folders)
        total += count
        print(
            f"{name:<34} {count:>7} {code_bytes(joined(objects[name], f'{folder}/{name}.o')):>14}"
        )
    core = code_bytes(joined(everything, f"{folder}/core.o"))
    print(f"{'all four':<34} {total:>7} {core:>14}")
    print(f"{'bring-up and RC alone, linked':<34} {'':>7} {code_bytes(program):>14}")
    print(f"{'waiting for verbs (apart)':<34} {sum(lines_of(ROOT / n) for n in WAITING):>7}")
    for name, folders in APART.items():
        print(f"{name + ' (apart)':<34} {lines(folders):>7}")
    print()
    for what, key, figure in (
        ("lines of all four", "lines", total),
        ("bytes of all four", "core", core),
        ("bytes of bring-up and RC alone", "smallest", code_bytes(program)),
    ):
        goal = GOALS[key]
        how = "within it" if figure <= goal else f"above it by {figure / goal * 100 - 100:.1f} %"
        print(f"{what}: {figure}, ceiling {goal}: {how}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
