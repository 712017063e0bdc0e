# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Instructions of the face's post and poll, counted by valgrind, without those of the adapter."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMES = 512
# The face calls these of the adapter (hal/targets/in_program). What they take is the model's.
MODEL = re.compile(r"freehca::in_program::adapter::(mmio_write|run_due|work\w*)\(")
CALLS = {
    "post": "counted_post",
    "poll": "counted_poll",
    "poll of an empty queue": "counted_empty_poll",
}


def model_share(profile):
    """Instructions inside the outermost calls of MODEL, of callgrind's file."""
    names, inside, caller, called, taken, cost = {}, False, "", "", 0, False
    for line in profile.splitlines():
        name = re.match(r"(c?)fn=(\(\d+\))(?: (.*))?$", line)
        if name:
            text = names.setdefault(name[2], name[3] or "")
            if name[1]:
                called = text
            else:
                caller = text
                inside = bool(MODEL.search(caller))
        elif line.startswith("calls="):
            cost = True
        elif cost:
            cost = False
            if MODEL.search(called) and not inside:
                taken += int(line.split()[-1])
    return taken


def counted(run, program, function, times):
    """(all instructions within the function, those of the model among them)."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        command = ["valgrind", "--tool=callgrind", "--trace-children=yes"]
        command += [f"--callgrind-out-file={out}", f"--toggle-collect={function}"]
        command += [run, "--fabric", f"bench-{os.getpid()}", "--", program, times]
        ran = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False, timeout=300
        )
        found = re.findall(r"Collected : (\d+)", ran.stderr)
        if ran.returncode != 0 or not found or found[-1] == "0":
            sys.exit(f"bench programs: {function}: {ran.returncode}: {ran.stderr[-2000:]}")
        return int(found[-1]), model_share(out.read_text(encoding="utf-8"))


def of_face(run, build):
    """{call: (instructions of the face, of the model besides)} for each call."""
    program, figures = build / "freehca_bench_verbs_calls", {}
    for call, function in CALLS.items():
        once, twice = (counted(run, program, function, times) for times in (TIMES, 2 * TIMES))
        whole, model = ((second - first) / TIMES for first, second in zip(once, twice))
        figures[call] = (whole - model, model)
    return figures


def of_libmlx4():
    """{call: instructions} as docs/bench-driver.md has them."""
    page = (ROOT / "docs" / "bench-driver.md").read_text(encoding="utf-8")
    return {
        call: float(re.search(rf"^\| {call} \| ([\d.]+) \|", page, re.MULTILINE).group(1))
        for call in CALLS
    }
