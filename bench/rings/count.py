#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""count.py [--compiler COMPILER] FOLDER: the instructions that a post, a poll and their like take,
by valgrind: between a function's entry and its return, callees included. The programs are those of
FOLDER, or are compiled into it at -O2. Each case is counted over some calls and over twice as many;
the difference is printed, for one request. At last those of a post and a poll together, while more
and more queue pairs share a completion queue.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "layering"))
import toolchain

TIMES = 512  # of batches of 32: the send queue goes round 16 times
CASES = [
    ("post and ring", "counted_post", "post", 1),
    ("post and ring, 64 bytes inline", "counted_post_inline", "inline", 1),
    ("post and ring, opcode known at run time", "counted_post_any", "any", 1),
    ("poll", "counted_poll", "post", 1),
    ("poll of a receive", "counted_poll", "receive", 1),
    ("poll of a shared receive", "counted_poll", "shared", 1),
    ("poll of an empty queue", "counted_poll", "empty", 1),
    ("post, each of 1 and a ring", "counted_post_batch", "batch", 1),
    ("post, each of 8", "counted_post_batch", "batch", 8),
    ("post, each of 32", "counted_post_batch", "batch", 32),
    ("poll, each of 32", "counted_poll", "batch", 32),
    ("post of a stream, each of 32", "counted_post_stream", "stream", 32),
    ("post, one signaled in 32, each", "counted_post_quiet", "quiet", 32),
    ("post of a stream, one signaled in 32, each", "counted_post_quiet_stream", "quiet_stream", 32),
    ("poll, one signaled in 32, each", "counted_poll", "quiet", 32),
    ("look, each of 32", "counted_look", "look", 32),
    ("count, each of 32", "counted_count", "count", 32),
    ("post of a datagram and ring", "counted_post_datagram", "datagram", 1),
    ("post of datagrams, each of 32", "counted_post_datagrams", "datagrams", 32),
    ("post of receives, each of 32", "counted_post_receives", "receive", 32),
    ("poll of receives, each of 32", "counted_poll", "receive", 32),
    ("post of shared receives, each of 32", "counted_post_shared", "shared", 32),
    ("poll of shared receives, each of 32", "counted_poll", "shared", 32),
]
CROWDS = (1, 256, 4096, 65536)  # queue pairs
POSTS = 16  # of each that takes part
PROGRAMS = {"freehca_bench_rings": ["main", "stand_in"], "freehca_bench_rings_many": ["many"]}


def compiled(compiler, folder):
    """As the build has them, but for debug information that valgrind 3.19 reads."""
    toolchain.need(compiler)
    folder.mkdir(parents=True, exist_ok=True)
    flags = [
        "-std=c++20",
        "-O2",
        "-DNDEBUG",
        "-gdwarf-4",
        *toolchain.includes(ROOT, f"{ROOT}/work_requests/include"),
    ]
    core = ["-ffreestanding", "-fno-exceptions", "-fno-rtti"]
    commands, objects = [], {}
    for name, parts in {**PROGRAMS, "queues": None}.items():
        sources = [ROOT / "bench/rings" / f"{part}.cpp" for part in parts or []]
        # The queues' objects name the one that says how the core accesses the adapter.
        sources = sources or [
            *sorted((ROOT / "queues/src").glob("*.cpp")),
            ROOT / "work_requests/src/post.cpp",
            ROOT / "hal/src/access_flavour.cpp",
        ]
        objects[name] = [str(folder / f"{source.stem}.o") for source in sources]
        for source, to in zip(sources, objects[name]):
            command = [*toolchain.cached(ROOT), compiler, *flags, *([] if parts else core)]
            commands.append([*command, "-c", "-o", to, str(source)])
    toolchain.run_all(commands)
    toolchain.run_all(
        [compiler, "-o", str(folder / name), *objects[name], *objects["queues"]]
        for name in PROGRAMS
    )


def counted(program, functions, *words):
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        + [f"--toggle-collect={function}(*" for function in functions]
        + [program, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or found is None or found.group(1) == "0":
        sys.exit(f"count.py: {words}: status {run.returncode}: {run.stderr}")
    return int(found.group(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler")
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    if options.compiler:
        compiled(options.compiler, options.folder)
    one, many = (options.folder / name for name in PROGRAMS)
    for what, function, case, batch in CASES:
        once, twice = (counted(one, [function], case, times, batch) for times in (TIMES, 2 * TIMES))
        print(f"{what:<56} {(twice - once) / TIMES / batch:8.1f} instructions", flush=True)
    for case, where in (("one", "on one of"), ("turns", "in turn on each of")):
        for crowd in CROWDS:
            count = counted(many, ["counted_post", "counted_poll"], case, crowd, POSTS)
            each = count / POSTS / (crowd if case == "turns" else 1)
            what = f"post and poll {where} {crowd} queue pairs"
            print(f"{what:<56} {each:8.1f} instructions", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
