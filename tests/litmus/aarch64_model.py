# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Litmus tests for aarch64, in the format of herd7, decided by Arm's axiomatic model.

The model is that of the Arm Architecture Reference Manual, "Definition of the Armv8 memory model"
(the `aarch64.cat` of herdtools7), for whole accesses to normal memory: an execution is one that the
architecture has when each location has an order of its own (internal visibility), nothing is
observed before itself (external visibility), and nothing comes between the halves of an atomic
access. All executions are enumerated, so that "never" is a proof, of the test as it is written.

Left out is what the tests do not use: accesses of mixed size, ISB, tags and translation. Two rules
that order more are left out as well (an exchange with both halves as a full barrier, DSB's effect on
what follows it): so `never` holds on the architecture, too.
"""

import itertools
import re


class Event:
    """A load or a store of one thread; fences are kept as marks of where they stand."""

    def __init__(self, thread, place, kind, location, value):
        self.thread, self.place, self.kind = thread, place, kind
        self.location, self.value = location, value
        self.acquire = self.release = False
        self.address, self.data, self.control = frozenset(), frozenset(), frozenset()
        self.half_of = None  # of an atomic access: its load


class Test:
    def __init__(self, text):
        text = re.sub(r"\(\*.*?\*\)", "", text, flags=re.S)
        head, rest = text.split("{", 1)
        start, rest = rest.split("}", 1)
        self.name = head.split()[1]
        if head.split()[0] != "AArch64":
            raise ValueError("not a test for AArch64")
        body, self.condition = re.split(r"\bexists\b", rest, maxsplit=1)
        self.memory, self.registers = {}, {}
        for item in start.replace("\n", " ").split(";"):
            if not item.strip():
                continue
            name, value = (part.strip() for part in item.split("="))
            if ":" in name:
                thread, register = name.split(":")
                self.registers[int(thread), register[1:]] = number(value)
            else:
                self.memory[name.strip("[]")] = number(value)
        rows = [[cell.strip() for cell in row.split("|")] for row in body.split(";") if row.strip()]
        self.threads = [[row[i] for row in rows if i < len(row)] for i in range(len(rows[0]))]
        for i, column in enumerate(self.threads):
            if column[0] != f"P{i}":
                raise ValueError(f"{self.name}: column {i} is not P{i}")
        self.threads = [[cell for cell in column[1:] if cell] for column in self.threads]


def number(text):
    return int(text, 0) if re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+", text) else text


def runs_of(thread, program, registers, may_be):
    """All ways through one thread, each load taking each value that its location may have."""
    labels = {cell[:-1]: i for i, cell in enumerate(program) if cell.endswith(":")}

    def step(at, held, events, fences, control):
        while at < len(program):
            cell = program[at]
            at += 1
            if cell.endswith(":") or cell == "NOP":
                continue
            name, _, rest = cell.partition(" ")
            operands = [o.strip() for o in re.sub(r"[\[\]]", "", rest).split(",")]
            if name in ("DMB", "DSB"):
                fences = fences + [(len(events), operands[0])]
                continue
            if name == "MOV":
                source = operands[1]
                value = (number(source[1:]), frozenset()) if source[0] == "#" else held[source[1:]]
                held = {**held, operands[0][1:]: value}
                continue
            if name in ("CBZ", "CBNZ"):
                value, needs = held[operands[0][1:]]
                control = control | needs
                if (value == 0) == (name == "CBZ"):
                    at = labels[operands[1]]
                    if at < 0:
                        raise ValueError("loops are not followed")
                continue
            loads = re.fullmatch(r"LD(A?)(X?)R", name)
            stores = re.fullmatch(r"ST(L?)(X?)R", name)
            swaps = re.fullmatch(r"(?:SWP|APART)(A?)(L?)", name)
            if loads:
                target, base = operands
                location, by = held[base[1:]]
                for value in sorted(may_be[location], key=str):
                    e = Event(thread, len(events), "R", location, value)
                    e.acquire = bool(loads.group(1))
                    e.address, e.control = by, control
                    after = {**held, target[1:]: (value, frozenset([len(events)]))}
                    if loads.group(2):
                        after["exclusive"] = (len(events), frozenset())
                    yield from step(at, after, events + [e], fences, control)
                return
            if stores:
                # An exclusive store that fails has no effect: its loop comes round again.
                source, base = operands[-2:]
                (value, needs), (location, by) = value_of(held, source), held[base[1:]]
                e = Event(thread, len(events), "W", location, value)
                e.release = bool(stores.group(1))
                e.address, e.data, e.control = by, needs, control
                if stores.group(2):
                    e.half_of = held["exclusive"][0]
                    held = {**held, operands[0][1:]: (0, frozenset())}
                events = events + [e]
                continue
            if swaps:
                source, target, base = operands
                (new, needs), (location, by) = value_of(held, source), held[base[1:]]
                for value in sorted(may_be[location], key=str):
                    r = Event(thread, len(events), "R", location, value)
                    w = Event(thread, len(events) + 1, "W", location, new)
                    r.acquire, w.release = bool(swaps.group(1)), bool(swaps.group(2))
                    r.address = w.address = by
                    r.control = w.control = control
                    w.data = needs
                    if name.startswith("SWP"):
                        w.half_of = len(events)
                    after = {**held, target[1:]: (value, frozenset([len(events)]))}
                    yield from step(at, after, events + [r, w], fences, control)
                return
            raise ValueError(f"no such instruction here: {cell}")
        yield events, fences, {r: v for r, (v, _) in held.items()}

    first = {r: (v, frozenset()) for (t, r), v in registers.items() if t == thread}
    yield from step(0, first, [], [], frozenset())


def value_of(held, source):
    return (0, frozenset()) if source in ("WZR", "XZR") else held[source[1:]]


def kept_orders(events, fences):
    """Pairs of one thread's events that are observed in this order (dob, aob, bob)."""
    kept = set()
    for j, b in enumerate(events):
        for i in b.address | b.data:
            kept.add((i, j))
        if b.kind == "W":
            for i in b.control:
                kept.add((i, j))
            for a in events[:j]:
                for i in a.address:
                    kept.add((i, j))
            if b.half_of is not None:
                kept.add((b.half_of, j))
        for i, a in enumerate(events[:j]):
            if a.acquire or b.release or (a.release and b.acquire):
                kept.add((i, j))
            for place, what in fences:
                if not i < place <= j:
                    continue
                if what.endswith("ST"):
                    orders = a.kind == b.kind == "W"
                elif what.endswith("LD"):
                    orders = a.kind == "R"
                else:
                    orders = True
                if orders:
                    kept.add((i, j))
    return kept


def has_cycle(edges):
    after = {}
    for a, b in edges:
        after.setdefault(a, []).append(b)
    state = {}

    def visit(node):
        state[node] = 1
        for other in after.get(node, ()):
            if state.get(other) == 1 or (other not in state and visit(other)):
                return True
        state[node] = 2
        return False

    return any(node not in state and visit(node) for node in list(after))


def condition_of(text):
    """A function of (registers of each thread, memory)."""
    text = text.strip()
    words = re.findall(r"\d+:[XW]\w+|\[?\w+\]?|/\\|\\/|[()=~]", text)
    out, i = [], 0
    while i < len(words):
        word = words[i]
        if word in ("(", ")"):
            out.append(word)
        elif word == "/\\":
            out.append("and")
        elif word == "\\/":
            out.append("or")
        elif word == "~":
            out.append("not")
        else:
            if words[i + 1] != "=":
                raise ValueError(f"condition: {text}")
            value = number(words[i + 2])
            if ":" in word:
                thread, register = word.split(":")
                out.append(f"(registers[{thread}].get({register[1:]!r}, 0) == {value!r})")
            else:
                out.append(f"(memory[{word.strip('[]')!r}] == {value!r})")
            i += 2
        i += 1
    code = compile(" ".join(out), "condition", "eval")
    return lambda registers, memory: eval(code, {"registers": registers, "memory": memory})


def reaches(test):
    """Whether an execution of the architecture ends as the test's `exists` says."""
    may_be = {location: {value} for location, value in test.memory.items()}
    while True:
        runs = [
            list(runs_of(t, program, test.registers, may_be))
            for t, program in enumerate(test.threads)
        ]
        size = sum(len(values) for values in may_be.values())
        for events, _, _ in itertools.chain(*runs):
            for e in events:
                if e.kind == "W":
                    may_be[e.location].add(e.value)
        if size == sum(len(values) for values in may_be.values()):
            break
    holds = condition_of(test.condition)
    for chosen in itertools.product(*runs):
        if execution_exists(test, chosen, holds):
            return True
    return False


def candidates(test, chosen, holds):
    """The executions of chosen runs that end as `holds` says, each location by itself in order:
    pairs of a store and a later one, of a store and a load that finds it, and of a load and a store
    that is later than what it finds. An exchange finds what stands ahead of its store."""
    registers = [values for _, _, values in chosen]
    events = [e for each, _, _ in chosen for e in each]
    initial = {l: Event(-1, 0, "W", l, value) for l, value in test.memory.items()}
    writes = {l: [e for e in events if e.kind == "W" and e.location == l] for l in test.memory}
    reads = [e for e in events if e.kind == "R"]
    sources = [
        [w for w in [initial[r.location]] + writes[r.location] if w.value == r.value] for r in reads
    ]
    if not all(sources):
        return
    load_of = {
        e: next(r for r in reads if (r.thread, r.place) == (e.thread, e.half_of))
        for e in events
        if e.half_of is not None
    }
    locations = list(writes)
    orders = [
        [
            order
            for order in itertools.permutations(writes[l])
            if all(
                a.thread != b.thread or a.place < b.place
                for a, b in itertools.combinations(order, 2)
            )
            and all(
                e not in load_of or load_of[e].value == ahead.value
                for ahead, e in zip((initial[l], *order), order)
            )
        ]
        for l in locations
    ]
    if not all(orders):
        return
    same_place = [
        (a, b)
        for each, _, _ in chosen
        for a, b in itertools.combinations(each, 2)
        if a.location == b.location
    ]
    for order in itertools.product(*orders):
        memory = {l: (o[-1] if o else initial[l]).value for l, o in zip(locations, order)}
        if not holds(registers, memory):
            continue
        rank = {initial[l]: 0 for l in locations}
        coherence = []
        for l, o in zip(locations, order):
            line = [initial[l], *o]
            coherence += list(itertools.combinations(line, 2))
            rank.update({w: i for i, w in enumerate(line)})
        for picked in itertools.product(*sources):
            read_from = list(zip(picked, reads))
            from_read = [
                (r, w) for w0, r in read_from for w in writes[r.location] if rank[w] > rank[w0]
            ]
            if has_cycle(same_place + coherence + read_from + from_read):
                continue
            source = {r: w for w, r in read_from}
            if all(rank[source[r]] + 1 == rank[w] for w, r in load_of.items()):
                yield coherence, read_from, from_read, load_of


def execution_exists(test, chosen, holds):
    """Whether the architecture has an execution of chosen runs that ends as `holds` says."""
    kept, forwarded = [], []
    for each, fences, _ in chosen:
        kept += [(each[i], each[j]) for i, j in kept_orders(each, fences)]
        for w in each:
            if w.kind == "W":
                forwarded += [(each[i], w) for i in w.address | w.data]
    for coherence, read_from, from_read, load_of in candidates(test, chosen, holds):
        observed = [(a, b) for a, b in coherence + read_from + from_read if a.thread != b.thread]
        # What a store's value or address came from is observed before the store is read.
        own = [(w, r) for w, r in read_from if w.thread == r.thread]
        through = [(a, r) for a, w in forwarded for w0, r in own if w0 is w]
        through += [(w, r) for w, r in own if w in load_of and r.acquire]
        if not has_cycle(kept + observed + through):
            return True
    return False


def execution_exists_in_cpp(test, chosen, holds):
    """The same in the orders of C++, as RC11 has them (Lahav and others: "Repairing Sequential
    Consistency in C/C++11"), without fences. Nothing is before itself along one order of happening
    before and the orders of a location; no load finds a store that depends on it."""
    program = [(a, b) for each, _, _ in chosen for a, b in itertools.combinations(each, 2)]
    for coherence, read_from, from_read, load_of in candidates(test, chosen, holds):
        if has_cycle(program + read_from):
            continue
        source = {r: w for w, r in read_from}
        before = set(program)
        for w, r in read_from:
            # What an exchange stores continues the release that it has found.
            while r.acquire and w.thread >= 0:
                if w.release:
                    before.add((w, r))
                if w not in load_of:
                    break
                w = source[load_of[w]]
        before = closure(before)
        if not any((b, a) in before for a, b in closure(coherence + read_from + from_read)):
            return True
    return False


def closure(edges):
    """All pairs that the edges connect, in one step or several."""
    after = {}
    for a, b in edges:
        after.setdefault(a, set()).add(b)
    pairs = set()
    for start in after:
        reached, ahead = set(), [start]
        while ahead:
            for b in after.get(ahead.pop(), ()):
                if b not in reached:
                    reached.add(b)
                    ahead.append(b)
        pairs |= {(start, b) for b in reached}
    return pairs


def weakened(text):
    """Each barrier, acquire and release of a test taken out once: (what was done, the text)."""
    for found in re.finditer(r"\b(DMB|DSB) \w+", text):
        yield f"no {found.group()}", text[: found.start()] + "NOP" + text[found.end() :]
    for found in re.finditer(r"\bLDA(X?R)\b|\bSTL(X?R)\b|\bSWP(A?)(L?)\b", text):
        word = found.group()
        others = []
        if word.startswith("LDA"):
            others = ["LD" + found.group(1)]
        elif word.startswith("STL"):
            others = ["ST" + found.group(2)]
        elif "A" in word[3:] or "L" in word[3:]:
            others = [word[:3] + word[3:].replace(half, "", 1) for half in "AL" if half in word[3:]]
        for other in others:
            yield f"{other} for {word}", text[: found.start()] + other + text[found.end() :]
    for found in re.finditer(r"\bSWP(?=A?L? )", text):
        # No instruction: a load, and a store that is not tied to it.
        yield "an exchange in two parts", text[: found.start()] + "APART" + text[found.end() :]


def line_of(text, other):
    same = next(i for i, (a, b) in enumerate(zip(text, other)) if a != b)
    return text.count("\n", 0, same) + 1
