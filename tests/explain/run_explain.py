#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""run_explain.py RUN FOLDER [NAME...]: compiles each program of `programs` as it is and as its
healthy twin (-DHEALTHY) into FOLDER, and runs both under RUN, which is freehca-run, on the link
layers of --link. The broken program has to end as causes.py says, and the healthy twin with data
that has arrived. With --explain, RUN explains the errors: the explanation of the broken program has
to contain all words of causes.py, and a healthy twin has none."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import threading

from causes import CAUSES, INFINIBAND, ROCE, SHOWN

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
FLAGS = ["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror"]
LONGEST = 60  # seconds, after which a program hangs
PLACE = re.compile(r"<(\w+)>")
HEALTHY_LINES = ("wc status 0", "errno 0", "event none")


def compile_c(*words):
    ended = subprocess.run(["gcc", *FLAGS, *words], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"gcc {' '.join(map(str, words))}:\n{ended.stderr}")


class Twin:
    """A program as it is, or its healthy twin."""

    def __init__(self, cause, healthy, folder):
        self.cause, self.healthy = cause, healthy
        self.name = cause.name + (" (healthy)" if healthy else "")
        self.path = folder / (cause.name + ("-healthy" if healthy else ""))

    def compile(self, common):
        define = ["-DHEALTHY"] if self.healthy else []
        source = PROGRAMS / f"{self.cause.name}.c"
        compile_c(*define, source, common[self.healthy], "-o", self.path, "-libverbs")

    def run(self, launcher, link, explain):
        """Runs the program. Returns the complaints about it."""
        # The name has a word by which the library knows files of its own tree.
        fabric = f"explain-{link}-{os.getpid()}-{threading.get_ident()}"
        options = ["--fabric", fabric, "--link", link, *(["--explain"] if explain else [])]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("FREEHCA_", "LD_"))}
        try:
            ended = subprocess.run(
                [launcher, *options, "--", self.path],
                env=kept,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [f"no end within {LONGEST} seconds"]
        found = self.complaints(ended)
        if not self.healthy:
            found += self.complaints_about_table(ended)
        if explain and not found:
            found += self.complaints_about_explanation(ended)
        if found:
            found.append(f"stdout:\n{ended.stdout}stderr:\n{ended.stderr}")
        return found

    def complaints(self, ended):
        found = []
        if ended.returncode != 0:
            found.append(f"exit status {ended.returncode}")
        last = ended.stdout.splitlines()[-1:]
        permitted = HEALTHY_LINES if self.healthy else self.cause.shows
        if not last or last[0] not in permitted:
            found.append(f"last line {last}; permitted: {permitted}")
        return found

    def complaints_about_table(self, ended):
        """Words or functions of the table that the program cannot lead to."""
        printed = set(re.findall(r"^fact (\w+) ", ended.stdout, re.MULTILINE))
        used = {fact for word in self.cause.words for fact in PLACE.findall(word)}
        code = "".join(
            path.read_text() for path in (PROGRAMS / f"{self.cause.name}.c", PROGRAMS / "rig.c")
        )
        found = [f"the program does not print the fact {fact}" for fact in used - printed]
        for function in self.cause.functions:
            if not re.search(rf"^\S.*\b{function}\(.*\{{$", code, re.MULTILINE):
                found.append(f"the program has no function {function}")
        return found

    def patterns(self, ended):
        """The words of the table with the numbers that the program has printed."""
        lines = ended.stdout.splitlines()
        facts = dict(line.split()[1:] for line in lines if line.startswith("fact "))
        words = [SHOWN[line] for line in lines[-1:] if line in SHOWN]
        words += [with_numbers(word, facts) for word in self.cause.words]
        return words + [rf"\b{function}\b" for function in self.cause.functions]

    def complaints_about_explanation(self, ended):
        text = ended.stderr
        if self.healthy:
            return ["the healthy twin has an explanation"] if text else []
        return [
            f"missing: {pattern}"
            for pattern in self.patterns(ended)
            if not re.search(pattern, text, re.IGNORECASE)
        ]


def number(text):
    """A pattern of a number, with or without leading zeros."""
    value = int(text, 16)
    return rf"(?:\b0x0*{value:x}\b|(?<![\w:])(?<!\d\.){value}(?!\w|\.\d))"


def with_numbers(word, facts):
    """The pattern with the numbers of the program's facts."""
    return PLACE.sub(lambda match: number(facts[match.group(1)]), word)


def unlisted():
    """Names that are in the table or in the folder, and not in the other one."""
    present = {path.stem for path in PROGRAMS.glob("*.c")} - {"rig"}
    return present ^ {cause.name for cause in CAUSES}


def compile_common(folder):
    """The common part of the broken programs and of the healthy twins."""
    common = {}
    for healthy in (False, True):
        common[healthy] = folder / f"rig{'-healthy' if healthy else ''}.o"
        define = ["-DHEALTHY"] if healthy else []
        compile_c(*define, "-c", PROGRAMS / "rig.c", "-o", common[healthy])
    return common


def check(twin, common, links, arguments):
    twin.compile(common)
    return [
        f"{twin.name} on {link}: {complaint}"
        for link in links
        for complaint in twin.run(arguments.run, link, arguments.explain)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=pathlib.Path, metavar="RUN")
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--link", choices=(INFINIBAND, ROCE), action="append")
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    arguments.run = arguments.run.resolve()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if unlisted():
        sys.exit(f"in the table or in the folder alone: {' '.join(sorted(unlisted()))}")
    unknown = set(arguments.names) - {cause.name for cause in CAUSES}
    if unknown:
        sys.exit(f"no such program: {' '.join(sorted(unknown))}")
    common = compile_common(folder)
    links = arguments.link or [INFINIBAND]
    found, runs = [], []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for cause in CAUSES:
            if arguments.names and cause.name not in arguments.names:
                continue
            for healthy in (False, True):
                chosen = [link for link in links if link in cause.links]
                twin = Twin(cause, healthy, folder)
                runs.append(pool.submit(check, twin, common, chosen, arguments))
        for run in runs:
            found += run.result()
    for complaint in found:
        print(complaint)
    print(f"{len(runs)} programs on {' and '.join(links)}: {len(found)} complaints")
    return 1 if found or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
