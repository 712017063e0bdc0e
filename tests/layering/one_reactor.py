#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""one_reactor.py [ROOT]: in hal, firmware_cmds, queues, hca and the faces only the reactor of an owner
keeps operations that have ended, deadlines, and the time of the next poll().

Refused outside hal/reactor: a list of operations, a variable that is a time to act at, a function
next_deadline(). The exceptions are below, each with its reason. An exception that does not occur
any more is refused too, so that the table can only become shorter."""
import pathlib
import re
import sys

FOLDERS = ["hal/include", "hal/src", "firmware_cmds", "queues", "hca", "faces", "network"]
REACTOR = ["hal/include/freehca/hal/reactor.hpp", "hal/src/reactor.cpp"]

HAL = "hal/include/freehca/hal/"
COMMANDS = "firmware_cmds/include/freehca/firmware_cmds/"
HCA = "hca/include/freehca/hca/"
EASY = "faces/easy/include/freehca/easy/"
INTERFACES = "faces/interfaces/include/freehca/interfaces/"
WAIT_FOR_WORK = "operations that wait for work, not for their end"
GATHERS = "adds what the reactor does not know: rings, registers and the times below"
EXCEPTIONS = {
    # Lists of operations.
    (COMMANDS + "channel.hpp", "queue_"): WAIT_FOR_WORK + ": all commands that are not posted",
    (COMMANDS + "command_client.hpp", "ready"): WAIT_FOR_WORK + ": commands that may be posted",
    (COMMANDS + "command.hpp", "waiting"): WAIT_FOR_WORK + ": commands behind one on their object",
    (HCA + "context_tables.hpp", "waiting_"): WAIT_FOR_WORK + ": requests for context memory",
    (EASY + "objects.hpp", "waiting"): WAIT_FOR_WORK + ": for completions of a queue",
    # Times.
    (HAL + "operation.hpp", "deadline_"): "what the reactor sorts by",
    (COMMANDS + "channel.hpp", "register_taken_since_"): "since when the GO bit is set",
    (HCA + "context_tables.hpp", "spares_due_"): "when blocks that nobody needs are unmapped",
    (HCA + "device_ports.hpp", "retry_at_"): "when a port that could not be read is read again",
    (HCA + "device_sequence.hpp", "patience"): "until when a step of a sequence waits",
    (HCA + "device_sequence.hpp", "since"): "since when a step of a sequence waits",
    (HCA + "device_sequence.hpp", "wake_"): "when a step of a sequence looks again",
    (EASY + "objects.hpp", "event_due_"): "when an event of a completion counts as lost",
    (INTERFACES + "interface.hpp", "deadline"): "an argument, which becomes an operation's",
    (HCA + "health.hpp", "next_look_"): "when the error buffer is read again",
    # The time of the next poll().
    (COMMANDS + "channel.hpp", "next_deadline"): GATHERS,
    ("firmware_cmds/src/channel.cpp", "next_deadline"): GATHERS,
    (HCA + "device.hpp", "next_deadline"): GATHERS,
    ("hca/src/device.cpp", "next_deadline"): GATHERS,
    (HCA + "objects/verbs.hpp", "next_deadline"): GATHERS,
    ("hca/src/objects/verbs.cpp", "next_deadline"): GATHERS,
    (EASY + "adapter.hpp", "next_deadline"): GATHERS,
    ("faces/easy/src/adapter.cpp", "next_deadline"): GATHERS,
}

CLASS = re.compile(r"\bclass\s+(\w+)\s*(?:final\s*)?:\s*([^{;]*)\{")
LIST = re.compile(r"\blist<\s*(?:\w+::)*(\w+)\s*(?:,\s*\w+\s*)?>\s+(\w+)\s*(?:[;{=,)]|$)", re.M)
TIME = re.compile(r"(constexpr\s+)?\bstd::uint64_t\s+([^;()]*);")
NAME = re.compile(r"(?:^|,)\s*(\w+)")
TIME_WORDS = set("deadline due wake look retry since until earliest expires patience".split())
NEXT = re.compile(r"\b(?:std::uint64_t|auto)\s+(?:\(\*)?(?:\w+::)?(next_deadline)\)?\s*\(")


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def operations_of(texts):
    """Names of the classes that derive from operation, the class itself included."""
    bases = {}
    for text in texts:
        for name, of in CLASS.findall(text):
            bases.setdefault(name, set()).update(re.findall(r"\w+", of))
    found = {"operation"}
    while True:
        more = {name for name, of in bases.items() if of & found} - found
        if not more:
            return found
        found |= more


def sources(root):
    """The texts of all files but the reactor's, without comments."""
    texts = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            name = path.relative_to(root).as_posix()
            if name not in REACTOR:
                texts[name] = without_comments(path.read_text())
    return texts


def occurrences(texts):
    """(file, name) of all lists, times and functions that are refused, with a word for each."""
    operations = operations_of(texts.values())
    found = {}
    for file, text in texts.items():
        for of, name in LIST.findall(text):
            if of in operations:
                found[file, name] = "a list of operations"
        # A local variable is a time to act at only for as long as its function runs.
        if file.endswith(".hpp"):
            for constant, names in TIME.findall(text):
                for name in [] if constant else NAME.findall(names):
                    if TIME_WORDS & set(name.split("_")):
                        found[file, name] = "a time to act at"
        for name in NEXT.findall(text):
            found[file, name] = "a function next_deadline()"
    return found


def complaints(found):
    """What is wrong with these occurrences, one line each."""
    wrong = [
        f"{file}: {name} is {what}, and belongs into the reactor (hal/reactor.hpp)"
        for (file, name), what in sorted(found.items())
        if (file, name) not in EXCEPTIONS
    ]
    return wrong + [
        f"tests/layering/one_reactor.py: {file} has no {name} any more: take the exception out"
        for file, name in sorted(EXCEPTIONS)
        if (file, name) not in found
    ]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = occurrences(sources(root))
    wrong = complaints(found)
    for line in wrong:
        print(line)
    print(f"{len(found)} places, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
