#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""size.py FOLDER: how large the core is, and each face on it. Of each module the lines of its
headers and sources without comments and blanks, and the bytes of its code and constants (.text and
.rodata, unwind tables apart) at -Os on x86-64; the same of all four modules of the core linked
together, and of a program that links only what it calls (smallest.cpp). Of each face the bytes by
which core and faces together become smaller without it. Lines and bytes that are in no sum have
rows of their own. FOLDER takes the objects.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "layering"))
import toolchain

COMPILER = "g++"
# Of each row: its folders of headers and sources. Those apart are in no sum: layouts are tables of
# the hardware's formats, targets are ports.
MODULES = {
    "hal": ["hal/include", "hal/src"],
    "firmware_cmds": ["firmware_cmds"],
    "queues": ["queues"],
    "hca": ["hca"],
}
FACES = {name: [f"faces/{name}"] for name in ("easy", "interfaces", "texts")}
# A library beside the rings, of requests whose opcode is known only at run time.
BESIDE = {"work_requests": ["work_requests"]}
APART = {"hal/layouts": ["hal/layouts"], "hal/targets": ["hal/targets"]}
# Commands and requests that the core itself does not send. A verbs library needs them. They have a
# row of their own and are not in the row of their module, nor in the sum.
WAITING = [
    *(
        f"firmware_cmds/include/freehca/firmware_cmds/{name}.hpp"
        for name in ("object_contexts", "port_settings", "qp_transitions")
    ),
    *(
        f"queues/include/freehca/queues/{name}.hpp"
        for name in ("blueflame", "frame_requests", "received_frame", "xrc_requests")
    ),
]
# Parts of the core that only programs have that name them. They are in no row of a module and in no
# sum of the core, but have a sum of their own. A pattern that matches no file is an error.
HCA = "hca/include/freehca/hca"
KINDS = (
    "extended_completion_queue",
    "flow_rule",
    "management_*",
    "memory_window",
    "multicast",
    "packet_counter",
    "queue_pair_changes",
    "raw_ethernet_queue_pair",
    "receive_work_queue",
    "resizable_completion_queue",
    "rss_queue_pair",
    "xrc_*",
)
# Their functions are in the source of another kind, or in one of another name.
OTHER_SOURCES = ("queue_pair_changes", "rss_queue_pair")
PARTS = {
    "requests and kinds": [
        *(f"{HCA}/kinds/{name}.hpp" for name in KINDS),
        *(f"hca/src/kinds/{name}.cpp" for name in KINDS if name not in OTHER_SOURCES),
        "firmware_cmds/include/freehca/firmware_cmds/flow_rule.hpp",
        f"{HCA}/device_managed_steering.hpp",
        "hca/src/device_managed_steering.cpp",
        "hca/src/kinds/queue_pair_change.cpp",
        "hca/src/kinds/queue_pair_report.cpp",
        "hca/src/kinds/exchange.hpp",
        f"{HCA}/device_clock.hpp",
        "hca/src/device_clock.cpp",
        f"{HCA}/kinds/change_memory_region.hpp",
        "hca/src/kinds/change_memory_region.cpp",
        "hca/src/kinds/replace_memory_region.cpp",
        "firmware_cmds/include/freehca/firmware_cmds/special_qp.hpp",
        "queues/include/freehca/queues/prepared_packet.hpp",
        "queues/src/cq_named.cpp",
        "queues/src/cq_resize.cpp",
    ],
    "addresses": [
        f"{HCA}/port_addresses.hpp",
        "hca/src/port_addresses.cpp",
        "hca/src/kinds/roce_path.cpp",
    ],
    "adapter events": [
        f"{HCA}/adapter_monitor.hpp",
        f"{HCA}/device_watch.hpp",
        f"{HCA}/port_counters.hpp",
        "hca/src/adapter_monitor.cpp",
        "hca/src/port_counters.cpp",
        "firmware_cmds/include/freehca/firmware_cmds/operation_request.hpp",
    ],
    "Ethernet ports": [
        f"{HCA}/ethernet/*.hpp",
        f"{HCA}/kinds/promiscuous_mode.hpp",
        "hca/src/kinds/promiscuous_mode.cpp",
        "hca/src/ethernet/*.cpp",
        "firmware_cmds/include/freehca/firmware_cmds/ethernet_port.hpp",
    ],
    # A folder beside the core.
    "network interface": ["network/include/freehca/network/*.hpp", "network/src/*.cpp"],
}
# The goals of the figures that bench/figures_test.py holds. The lines of texts have none.
GOALS = {
    "lines of all four": 9000,
    "bytes of all four": 60 * 1024,
    "bytes of bring-up and RC alone": 52 * 1024,
    "lines of easy": 550,
    "bytes of easy": 5 * 1024,
    "lines of interfaces": 250,
    "bytes of interfaces": 3 * 1024,
    "bytes of texts": 4 * 1024,
    "lines of core and faces": 9900,
    "bytes of core and faces": 70 * 1024,
    "lines of all parts": 3500,
    "bytes of all parts": 28 * 1024,
}
# Names of what only programs have that name it, each a part of a symbol of the core.
NOT_IN_SMALLEST = (
    *("write_roce", "roce_path", "set_port_addresses", "vlan", "ethernet", "xrc_", "memory_window"),
    *("flow_rule", "device_managed", "promiscuous", "group_change", "change_queue_pair"),
    *("resizable", "replace_memory_region", "change_memory_region", "rss_", "management"),
    *("extended_completion_queue", "device_clock", "adapter_monitor", "port_counters"),
)
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


def files_of(part):
    """The headers and sources of a part of the core."""
    files = []
    for pattern in PARTS[part]:
        found = sorted(ROOT.glob(pattern))
        if not found:
            sys.exit(f"size: no file matches {pattern}; PARTS is not true any more")
        files += found
    return files


def lines(folders):
    waiting = {ROOT / name for name in WAITING}
    waiting |= {file for part in PARTS for file in files_of(part)}
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


def symbols(file):
    return subprocess.run(["nm", "-C", file], capture_output=True, text=True, check=True).stdout


def check_smallest(program, core):
    """Ends with an error if the program has what it does not name, or if the core has no such
    symbol, so that the search would find nothing."""
    of_program, of_core = symbols(program), symbols(core)
    for name in NOT_IN_SMALLEST:
        if name in of_program:
            sys.exit(f"size: the smallest program has symbols of {name}, which it does not name")
        if name not in of_core:
            sys.exit(
                f"size: the core has no symbol of {name}; NOT_IN_SMALLEST is not true any more"
            )


def joined(objects, to):
    """One object of many: an inline function that several of them have is in it once."""
    subprocess.run(["ld", "-r", "-o", to, *objects], check=True)
    return to


def main():
    # An option is no folder: the objects would go into the current one.
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    toolchain.need(COMPILER)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    # No position-independent code, whose tables of pointers are not in .rodata.
    flags = [*toolchain.freestanding(COMPILER), "-Os", "-DNDEBUG", "-fno-pie"]
    flags += ["-ffunction-sections", "-fdata-sections", "-fno-asynchronous-unwind-tables"]
    flags += ["-fno-stack-protector", "-fcf-protection=none", *toolchain.includes_of_faces(ROOT)]
    objects, commands = {name: [] for name in [*MODULES, *FACES, *BESIDE, *PARTS]}, []
    part_of = {file: part for part in PARTS for file in files_of(part)}

    def compiled(source, to, *more):
        commands.append(toolchain.object_command(ROOT, COMPILER, [*flags, *more], source, to))
        return to

    for name in [*MODULES, *FACES, *BESIDE, "network"]:
        sources = ROOT / (f"faces/{name}" if name in FACES else name) / "src"
        for source in sorted(sources.rglob("*.cpp")):
            parts = "_".join(source.relative_to(sources).with_suffix(".o").parts)
            of = part_of.get(source, name)
            objects[of].append(compiled(source, f"{folder}/{name}.{parts}"))
    # memcpy() must not become a call of itself.
    smallest = compiled(
        ROOT / "bench/size/smallest.cpp",
        f"{folder}/smallest.o",
        "-fno-tree-loop-distribute-patterns",
    )
    toolchain.run_all(commands)

    def bytes_of(names, to):
        """Of these modules and faces linked together."""
        return code_bytes(joined([o for name in names for o in objects[name]], f"{folder}/{to}.o"))

    program = f"{folder}/smallest"
    subprocess.run(
        [COMPILER, "-nostdlib", "-static", "-no-pie", "-Wl,--gc-sections,--build-id=none"]
        + ["-o", program, smallest, *(o for name in [*MODULES, *PARTS] for o in objects[name])],
        check=True,
    )
    with_parts = joined(
        [o for name in [*MODULES, *PARTS] for o in objects[name]], f"{folder}/all.o"
    )
    check_smallest(program, with_parts)
    figures = {}

    def row(name, count, bytes_of_code, held=None):
        print(f"{name:<34} {count:>7} {bytes_of_code:>14}")
        if held is not None:
            figures[f"lines of {held}"], figures[f"bytes of {held}"] = count, bytes_of_code

    row("module", "lines", "bytes of code")
    for name, folders in MODULES.items():
        row(name, lines(folders), bytes_of([name], name))
    core = sum(lines(folders) for folders in MODULES.values())
    core_bytes = bytes_of(MODULES, "core")
    row("all four", core, core_bytes, "all four")
    row("bring-up and RC alone, linked", "", code_bytes(program), "bring-up and RC alone")
    summed = [*MODULES, *FACES]
    whole = bytes_of(summed, "whole")
    for name, folders in FACES.items():
        without = bytes_of([other for other in summed if other != name], f"without_{name}")
        row(f"{name} (a face)", lines(folders), whole - without, name)
    of_faces = sum(lines(folders) for folders in FACES.values())
    row("core and faces", core + of_faces, whole, "core and faces")
    for name in PARTS:
        count = sum(lines_of(file) for file in files_of(name))
        row(f"{name} (a part)", count, bytes_of([*MODULES, name], "with_part") - core_bytes)
    of_parts = sum(lines_of(file) for name in PARTS for file in files_of(name))
    row("all parts", of_parts, code_bytes(with_parts) - core_bytes, "all parts")
    waiting = sum(lines_of(ROOT / name) for name in WAITING)
    row("waiting for verbs (apart)", waiting, "", "waiting for verbs")
    for name, folders in BESIDE.items():
        row(f"{name} (apart)", lines(folders), bytes_of([name], name), name)
    for name, folders in APART.items():
        row(f"{name} (apart)", lines(folders), "")
    print()
    for what, figure in figures.items():
        if figure == "":
            continue
        goal = GOALS.get(what)
        above = 0 if goal is None else figure / goal * 100 - 100
        how = f"above it by {above:.1f} %" if above > 0 else "within it"
        print(f"{what}: {figure}" + ("" if goal is None else f", ceiling {goal}: {how}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
