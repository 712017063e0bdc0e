# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The barriers compile to what the table of docs/memory-order.md says, on each machine whose
compiler is here; and what orders threads compiles to what orders_test.py takes it for."""

import pathlib
import re
import shutil
import subprocess
import sys

COMPILERS = {
    "x86-64": "g++",
    "aarch64": "aarch64-linux-gnu-g++",
    "riscv64": "riscv64-linux-gnu-g++",
}

SOURCE = """
#include <freehca/hal/barrier.hpp>
#include <freehca/hal/crossing.hpp>
{functions}
extern "C" void note(freehca::interrupt_count<>& c) {{ c.note(); }}
extern "C" bool look(freehca::interrupt_count<>& c) {{ return c.see(); }}
extern "C" void sleep_fence(freehca::inbox& i) {{ i.notify(); }}
"""

# What the litmus tests take the orders of C++ for.
ORDERS = {"aarch64": {"note": r"stlr\b", "look": r"lda(p?)r\b", "sleep_fence": r"dmb\s+ish\b"}}


def table_of(page):
    """{barrier: {machine: instruction}}"""
    heads, rows = None, {}
    for line in page.read_text().splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if cells[:2] == ["barrier", "between"]:
            heads = cells[2:]
        elif heads and re.fullmatch(r"\w+_to_\w+", cells[0]):
            rows[cells[0]] = dict(zip(heads, cells[2:]))
        elif heads and not line.startswith("|"):
            break
    return rows


def body_of(assembly, function):
    found = re.search(rf"^{function}:\n(.*?)^\s*\.size\s+{function}\b", assembly, re.S | re.M)
    lines = (line.strip() for line in found.group(1).splitlines())
    return [re.sub(r"\s+", " ", line) for line in lines if line and line[0] not in ".#/"]


def main(root):
    root = pathlib.Path(root)
    rows = table_of(root / "docs/memory-order.md")
    code = (root / "hal/include/freehca/hal/barrier.hpp").read_text()
    written = set(re.findall(r"^\[\[gnu::always_inline\]\] inline void (\w+)\(\) \{", code, re.M))
    wrong = 0
    if written != set(rows):
        print("barriers that are not in both, the header and the table:", written ^ set(rows))
        wrong += 1
    functions = "\n".join(
        f'extern "C" void only_{name}() {{ freehca::barrier::{name}(); }}' for name in rows
    )
    asked = 0
    for machine, compiler in COMPILERS.items():
        if shutil.which(compiler) is None:
            print(f"{machine}: {compiler} is not installed")
            continue
        asked += 1
        command = [compiler, "-std=c++20", "-O2", "-S", "-o", "-", "-x", "c++", "-"]
        command += ["-fcf-protection=none"] if machine == "x86-64" else []
        command += [f"-I{root}/hal/include", f"-I{root}/hal/layouts/include"]
        assembly = subprocess.run(
            command,
            input=SOURCE.format(functions=functions),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name, machines in rows.items():
            body = [line for line in body_of(assembly, f"only_{name}") if line != "ret"]
            want = [] if machines[machine] == "compiler only" else [machines[machine]]
            if [line.replace(", ", ",") for line in body] != want:
                print(f"{machine}: {name} is {body}, the table says {machines[machine]}")
                wrong += 1
        for name, instruction in ORDERS.get(machine, {}).items():
            if not any(re.match(instruction, line) for line in body_of(assembly, name)):
                print(f"{machine}: {name} is {body_of(assembly, name)}")
                wrong += 1
        print(f"{machine}: {len(rows)} barriers")
    if wrong:
        return 1
    return 0 if asked == len(COMPILERS) else 77


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
