# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""orders_test.py MEMORY_ORDER: the memory orders between threads, in the headers that ship.

MEMORY_ORDER is the program of relacy_test.cpp, which runs scenarios on the headers under Relacy, in
the orders of C++. Beside it is that of record.cpp, which records the accesses of each thread of the
same scenarios. Whether the records fit together to an outcome that is wrong is asked of the model
of aarch64 and, where crossings are put, of the axioms of C++: Relacy keeps stores to one object in
the order in which they were run, the axioms do not.

No scenario may go wrong. Then each order of the headers is weakened, one at a time. Relacy or the
axioms must find each, and so must the model of aarch64, but for those that no machine shows. The
table says by which scenario. An order of the headers that no scenario passes is a failure.
"""

import itertools
import json
import math
import pathlib
import re
import subprocess
import sys

import aarch64_model as model

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = [
    "hal/include/freehca/hal/atomics.hpp",
    "hal/include/freehca/hal/crossing.hpp",
    "hca/include/freehca/hca/event_relay.hpp",
]
ACQUIRES, RELEASES = ("acquire", "acq_rel", "seq_cst"), ("release", "acq_rel", "seq_cst")
# What compilers make of fences (instructions_test.py asks them).
FENCES = {"seq_cst": "ISH", "acq_rel": "ISH", "release": "ISH", "acquire": "ISHLD"}
# What aarch64 does not show: (is, weakened to). A store with release follows the exchange, and the
# fence is the same instruction.
NOT_ON_AARCH64 = {("acq_rel", "release"), ("seq_cst", "acq_rel")}


class Scenario:
    """A scenario as it was recorded."""

    def __init__(self, recorded):
        self.name = recorded["name"]
        self.memory = dict(enumerate(recorded["initial"]))
        self.threads = recorded["threads"]
        self.wrong = {tuple(outcomes) for outcomes in recorded["wrong"]}
        self.letters = recorded["letters"]
        events = [e for records in self.threads for r in records for e in r["events"]]
        self.sites = {e[5] for e in events if e[5]}
        # A put exchanges the tail, and stores the link of the crossing that it found there.
        self.tail, self.link_of = None, {}
        for records in self.threads if self.letters else ():
            for record in records:
                for found, stored, link in zip(*(record["events"][i:] for i in range(3))):
                    if found[4] and stored[4] and found[0] == "R":
                        self.tail, self.link_of[found[2]] = found[1], link[1]

    def size(self):
        return math.prod(map(len, self.threads))

    def runs(self, thread, weakened):
        """The records of a thread, in the terms of the model. `weakened`: (site, order)."""
        for record in self.threads[thread]:
            events, fences, load = [], [], None
            for kind, location, value, order, of_exchange, site in record["events"]:
                in_two_parts = False
                if weakened is not None and site == weakened[0]:
                    in_two_parts = weakened[1] == "in two parts"
                    order = order if in_two_parts else weakened[1]
                if kind == "F":
                    if order in FENCES:
                        fences.append((len(events), FENCES[order]))
                    continue
                e = model.Event(thread, len(events), kind, location, value)
                e.acquire = kind == "R" and order in ACQUIRES
                e.release = kind == "W" and order in RELEASES
                if of_exchange and kind == "R":
                    load = e.place
                elif of_exchange and not in_two_parts:
                    e.half_of = load
                events.append(e)
            yield events, fences, {"outcome": record["outcome"]}

    def has_lost(self, chosen, memory):
        """Whether a crossing that another one was put behind does not lead to it."""
        found, put = [], [self.memory[self.tail]]
        for events, _, _ in chosen:
            for load, store in zip(events, events[1:]):
                if store.kind == "W" and store.location == self.tail:
                    found.append(load.value)
                    put.append(store.value)
        for crossing, link in self.link_of.items():
            if found.count(crossing) >= put.count(crossing) and memory[link] == 0:
                return True
        return False

    def goes_wrong(self, weakened=None, exists=model.execution_exists):
        """Whether there is an execution that ends so: on aarch64, or by `exists`."""
        if weakened is not None and weakened[0] not in self.sites:
            return False
        if weakened is not None and weakened[1] == "acq_rel":
            return False  # the same instruction
        runs = [list(self.runs(i, weakened)) for i in range(len(self.threads))]
        for chosen in itertools.product(*runs):
            outcomes = tuple(values["outcome"] for _, _, values in chosen)
            if outcomes in self.wrong:
                holds = lambda registers, memory: True
            elif self.letters:
                holds = lambda registers, memory: self.has_lost(chosen, memory)
            else:
                continue
            if exists(self, chosen, holds):
                return True
        return False


def orders_of(header):
    """{line: how many orders that are not relaxed}"""
    found = {}
    for number, line in enumerate((ROOT / header).read_text().splitlines(), 1):
        code = line.split("//")[0]
        count = len(re.findall(r"[(, :](?:acquire|release|acq_rel|seq_cst)\)", code))
        if count:
            found[f"{pathlib.Path(header).name}:{number}"] = count
    return found


def main(program):
    lines = []
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as relacy:
        for line in relacy.stdout:
            lines.append(line.rstrip("\n"))
            if not line.startswith("weakened"):
                print(lines[-1], flush=True)
    if relacy.returncode != 0:
        print("the headers are wrong in the orders of C++")
        return 1
    records = pathlib.Path(program).parent / "order_records"
    recorded = json.loads(subprocess.run([records], capture_output=True, check=True).stdout)
    # The quickest first.
    scenarios = sorted(map(Scenario, recorded), key=Scenario.size)
    in_cpp = {"exists": model.execution_exists_in_cpp}
    wrong = 0
    for scenario in scenarios:
        judged = {"on aarch64": scenario.goes_wrong()}
        if scenario.letters:
            judged["by the axioms of C++"] = scenario.goes_wrong(**in_cpp)
        for where, bad in judged.items():
            wrong += bad
            print(f"{scenario.name} {where}: {'GOES WRONG' if bad else 'never goes wrong'}")
    if wrong:
        print("the headers are wrong")
        return 1

    columns = "{:22} {:8} {:13} {:18} {:13} {}"
    print()
    print(columns.format("access", "is", "weakened to", "found by Relacy", "axioms", "aarch64"))
    passed = {}
    weakenings = [line.split("\t")[1:] for line in lines if line.startswith("weakened")]
    for site, order, to, by in weakenings:

        def first(among, **how):
            return next((s.name for s in among if s.goes_wrong((site, to), **how)), "-")

        machine = first(scenarios)
        axioms = first((s for s in scenarios if s.letters), **in_cpp) if by == "-" else ""
        missed = by == "-" and axioms == "-"
        missed = missed or (machine == "-" and (order, to) not in NOT_ON_AARCH64)
        wrong += missed
        row = columns.format(site, order, to, by, axioms, machine)
        print(f"{row}{'  NOT FOUND' if missed else ''}", flush=True)
        if order != "relaxed":
            passed.setdefault(site.rpartition(":")[0], set()).add(site)
    for header in HEADERS:
        for line, count in orders_of(header).items():
            if len(passed.pop(line, ())) != count:
                print(f"{line}: no scenario passes all of its orders")
                wrong += 1
    for line in passed:
        print(f"{line}: an order that the text does not seem to have")
        wrong += 1
    print(f"{len(weakenings)} weakened orders, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
