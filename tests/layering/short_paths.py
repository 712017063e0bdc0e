#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""short_paths.py [--planted] PROGRAM [ROOT]: counts the files of the core and the calls by pointer
that lie on two paths. The first is the creation of a queue pair, from start() to the callback of its
end, with the polls between them. The second is one completion event, from event_context::poll() to
the user's callback. Then refuses what one_reactor.py refuses.

PROGRAM is freehca_layering_paths of the preset host (g++ 12, -O2 -g1). callgrind runs it and records
the executed instructions. A file counts if one of its functions ran, also if the compiler has
inlined that function: the debug information names the source of each instruction and the functions
around it. The headers of leaf functions therefore count too, for example those of layouts. A file
does not count if all of its functions on the path were evaluated at compile time.

A call by pointer is an executed indirect call or tail call, as objdump disassembles it. If the
compiler knows the target, the call is direct and does not count. The model and the in-process target
run inside the measured functions; they and their own copies of the core's functions do not count.

PATHS has the goals, and the ceilings that hold until the goals are reached. A path that has become
shorter than its ceiling is an error too: then the ceiling is lowered. With --planted, the program
plants a file and a call by pointer on each path, and the script fails unless it finds both."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
from collections import defaultdict, namedtuple

import one_reactor

CORE = re.compile(r"(?:^|/)\.\.?/((?:hal/(?:include|src|layouts)|firmware_cmds|queues|hca)/[^ ]*)$")
PLANTED = "hca/src/planted.cpp"

STEP = "a step"
COMMAND = "the end of a command"
OPERATION = "the end of the operation"
KINDS = {STEP, COMMAND, OPERATION}

USERS = "the user's callback"
# Of each path: its title, the goals and the ceilings, and its calls by pointer. A call is a file
# and the text of its line; the third column says what it is. In the file of operation::complete(),
# the target tells the two ends apart.
Path = namedtuple("Path", "function title files most_files most_called calls most_calls known")
Known = namedtuple("Known", "file text what target", defaults=(None,))
HCA = "hca/src/"
OBJECTS = HCA + "objects/"
PATHS = [
    Path(
        function="paths_create",
        title="creation of a queue pair",
        files=12,
        most_files=67,
        most_called=20,
        calls=None,
        most_calls=None,
        known=[
            Known(OBJECTS + "object_operation.cpp", "how.plan(*this, object)", STEP),
            Known(OBJECTS + "object_operation.cpp", "creator_->build(*this)", STEP),
            Known("hal/src/operation.cpp", "f(*this, context_)", COMMAND, "core"),
            Known("hal/src/operation.cpp", "f(*this, context_)", OPERATION, "user"),
            Known(OBJECTS + "object_operation.cpp", "finish_(*this", OPERATION),
            # Of no kind that is allowed: this part only becomes shorter.
            Known("hal/include/freehca/hal/platform.hpp", "operations->now(", "the clock"),
            Known(OBJECTS + "slab.cpp", "what_->construct(", "the table of the kind"),
        ],
    ),
    Path(
        function="paths_event",
        title="one completion event",
        files=5,
        most_files=11,
        most_called=2,
        calls=2,
        most_calls=2,
        known=[
            Known(HCA + "event_context.cpp", "what->notice(", "the table of the kind"),
            Known(HCA + "kinds/completion_queue.cpp", "to.completion(", USERS),
        ],
    ),
]

Call = namedtuple("Call", "address target")
Frame = namedtuple("Frame", "function file line")
Pointer = namedtuple("Pointer", "file line text target count")
Measured = namedtuple("Measured", "called inlined pointers calls")


def in_core(file):
    """The path of a file of the core below the root of the tree, or None."""
    found = CORE.search(file)
    return found and found.group(1)


class Trace:
    """What callgrind has recorded: how often each instruction was executed, and the calls."""

    def __init__(self, path):
        self.executed, self.calls = defaultdict(int), []
        target = None
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("calls="):
                target = int(line.split()[1], 16)
            elif line.startswith("0x"):
                words = line.split() + ["0"]
                address, cost = int(words[0], 16), int(words[2])
                # The number of calls is that of the whole run. What a call has cost is not.
                if cost and target is None:
                    self.executed[address] += cost
                elif cost:
                    self.calls.append(Call(address, target))
                target = None


class Program:
    """What the debug information and the disassembly say of a program."""

    def __init__(self, path):
        self.path = path
        self.frames = {}
        text = self.run("objdump", "-d", "--no-show-raw-insn", path)
        indirect = r"^ *([0-9a-f]+):\t(?:notrack |bnd )*(?:call|jmp) +\*"
        self.indirect = {int(a, 16) for a in re.findall(indirect, text, re.MULTILINE)}

    @staticmethod
    def run(*words, **options):
        return subprocess.run(
            words, capture_output=True, text=True, check=True, errors="replace", **options
        ).stdout

    def learn(self, addresses):
        """Finds the frames of each address: the inlined functions first, the function itself last."""
        text = self.run(
            *["addr2line", "-e", self.path, "-a", "-f", "-i", "-C"],
            input="".join(f"{address:#x}\n" for address in sorted(addresses)),
        )
        frames = None
        lines = iter(text.splitlines())
        for line in lines:
            if re.fullmatch(r"0x[0-9a-f]+", line):
                frames = self.frames[int(line, 16)] = []
                continue
            file, _, number = re.sub(r" \(discriminator.*", "", next(lines)).rpartition(":")
            frames.append(Frame(line, file, int(number) if number.isdigit() else 0))

    def function_of(self, address):
        """The function whose code contains the address, and its file."""
        outermost = self.frames[address][-1]
        return outermost.function, outermost.file


def traced(program, function, *words):
    """What callgrind records while the function runs."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "trace")
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-instr=yes"]
            + ["--compress-pos=no", f"--toggle-collect={function}(*", program, *words],
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            sys.exit(f"short_paths.py: status {run.returncode}: {run.stderr}")
        return Trace(out)


def text_at(root, file, line):
    path = root / file
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def functions_of_core(program, trace):
    """The measured function, the functions of the core's sources, and the functions of the core's
    headers that these call. The model has copies of the same headers' functions."""
    callees = defaultdict(set)
    for call in trace.calls:
        callees[program.function_of(call.address)].add(program.function_of(call.target))
    found = {
        (function, file)
        for function, file in map(program.function_of, trace.executed)
        if function.startswith("paths_") or (in_core(file) and file.endswith(".cpp"))
    }
    new = list(found)
    while new:
        for callee in callees[new.pop()]:
            if callee not in found and in_core(callee[1]):
                found.add(callee)
                new.append(callee)
    return found


def measured(program, trace, root):
    """The core's files on a path, and its calls by pointer."""
    program.learn({*trace.executed, *(a for call in trace.calls for a in call)})
    core = functions_of_core(program, trace)
    called = {in_core(file) for _, file in core}
    passed = {
        in_core(frame.file)
        for address in trace.executed
        if program.function_of(address) in core
        for frame in program.frames[address]
    }
    targets = defaultdict(set)
    for call in trace.calls:
        if call.address in program.indirect and program.function_of(call.address) in core:
            to = "core" if in_core(program.function_of(call.target)[1]) else "user"
            targets[call.address].add(to)
    pointers = defaultdict(int)
    for address, to in targets.items():
        site = program.frames[address][0]
        file = in_core(site.file) or site.file
        # How often an instruction had which of two targets is not known: both get its number.
        for target in to:
            pointers[file, site.line, text_at(root, file, site.line), target] += trace.executed[
                address
            ]
    return Measured(
        called - {None},
        passed - called - {None},
        [Pointer(*where, count) for where, count in sorted(pointers.items())],
        sum(trace.executed[address] for address in targets),
    )


def what_of(path, pointer):
    """The row of the path's table that names the call, or None."""
    for known in path.known:
        if known.file == pointer.file and known.text in pointer.text:
            if known.target in (None, pointer.target):
                return known
    return None


def complaints(path, found):
    """What is wrong, one line each."""
    wrong = []
    if not found.called:
        return [f"{path.title}: no function of the core ran"]

    def compare(what, count, most):
        if count > most:
            wrong.append(f"{path.title}: {count} {what}, and the ceiling is {most}")
        elif count < most:
            wrong.append(f"{path.title}: {count} {what}: lower the ceiling of {most}")

    compare("files", len(found.called | found.inlined), path.most_files)
    compare("files with called functions", len(found.called), path.most_called)
    if path.most_calls is not None:
        compare("calls by pointer", found.calls, path.most_calls)
    rows = [what_of(path, pointer) for pointer in found.pointers]
    for pointer, row in zip(found.pointers, rows):
        if row is None:
            wrong.append(
                f"{path.title}: {pointer.file}:{pointer.line}: a call by pointer of no known kind: "
                + pointer.text
            )
    for row in path.known:
        if row not in rows:
            wrong.append(
                f"{path.title}: no call {row.text} in {row.file} any more: take the row out"
            )
    return wrong


def report(path, found, idle):
    files = found.called | found.inlined
    most = f"the ceiling is {path.most_files}, the goal {path.files}"
    print(f"{path.title}: {len(files)} files; {most}")
    print(f"  {len(found.called)} of these have functions that are called; the others are inlined")
    print(f"  {len(files & idle)} of these are on the path of a poll without work too")
    for file in sorted(files):
        sort = "called " if file in found.called else "inlined"
        print(f"    {sort} {'poll' if file in idle else '    '} {file}")
    kinds = {row.what for p in found.pointers if (row := what_of(path, p))}
    goal = "3 kinds, those without +" if path.calls is None else f"{path.calls} calls"
    print(f"  calls by pointer: {found.calls} of {len(kinds)} kinds; the goal is {goal}")
    for p in found.pointers:
        row = what_of(path, p)
        over = " " if path.calls is not None or (row and row.what in KINDS) else "+"
        print(f"   {over}{p.count:4} {row.what if row else '?'}: {p.file}:{p.line}: {p.text}")


def plant(program, root):
    """What the script fails to find of a planted file, call, list and deadline; one line each."""
    wrong = []
    for path in PATHS:
        without, planted = (
            measured(program, traced(program.path, path.function, *words), root)
            for words in ((), ("planted",))
        )
        if planted.called - without.called != {PLANTED} or planted.inlined != without.inlined:
            wrong.append(f"{path.title}: the planted file was not found")
        more = [p.file for p in planted.pointers if p not in without.pointers]
        if more != [PLANTED]:
            wrong.append(f"{path.title}: the planted call was not found: {more}")
        new = set(complaints(path, planted)) - set(complaints(path, without))
        if not any("files, and" in line for line in new):
            wrong.append(f"{path.title}: the planted file is no error")
        if not any("of no known kind" in line for line in new):
            wrong.append(f"{path.title}: the planted call is no error")
    texts = one_reactor.sources(root)
    texts["hca/include/freehca/hca/planted.hpp"] = (
        "class planted : public object_operation {};\n"
        "list<planted> done_;\nstd::uint64_t count_ = 0, planted_deadline_ = 0;\n"
    )
    refused = one_reactor.complaints(one_reactor.occurrences(texts))
    for name in "done_", "planted_deadline_":
        if not any(f"planted.hpp: {name} is" in line for line in refused):
            wrong.append(f"one_reactor.py does not refuse {name}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("program")
    parser.add_argument("root", type=pathlib.Path, nargs="?", default=".")
    options = parser.parse_args()
    program, root = Program(options.program), options.root.resolve()
    if options.planted:
        wrong = plant(program, root)
    else:
        idle = measured(program, traced(program.path, "paths_idle"), root)
        wrong = []
        for path in PATHS:
            found = measured(program, traced(program.path, path.function), root)
            report(path, found, idle.called | idle.inlined)
            wrong += complaints(path, found)
        wrong += one_reactor.complaints(one_reactor.occurrences(one_reactor.sources(root)))
    print(*wrong, f"{len(wrong)} wrong", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
