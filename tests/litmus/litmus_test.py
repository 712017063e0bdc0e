# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The litmus tests here: no execution ends as `exists` says, and one does as soon as any one of the
driver's barriers, acquires or releases is taken out. First the model itself, on tests whose answers
are known from the literature."""

import pathlib
import sys

import aarch64_model as model

# The usual shapes (Alglave, Maranget, Tautschnig: "Herding Cats"; Pulte and others: "Simplifying
# Arm Concurrency"): message passing, store buffering, load buffering, and so on, with what stands
# between the two accesses of each thread; and whether aarch64 has them.
FIRST_LAST = "{ x=0; y=0; 0:X1=x; 0:X2=y; 1:X1=x; 1:X2=y; }"


def known(name, left, right, condition, start=FIRST_LAST):
    rows = max(len(left), len(right))
    cells = ["P0 | P1"] + [
        f"{left[i] if i < len(left) else ''} | {right[i] if i < len(right) else ''}"
        for i in range(rows)
    ]
    return f"AArch64 {name}\n{start}\n" + " ;\n".join(cells) + f" ;\nexists ({condition})"


def store(value, base, how="STR"):
    return [f"MOV W9,#{value}", f"{how} W9,[{base}]"]


def load(to, base, how="LDR"):
    return [f"{how} {to},[{base}]"]


def shapes():
    def message_passing(writer, reader, reads=("LDR", "LDR"), last="STR"):
        return known(
            "MP",
            store(1, "X1") + writer + store(1, "X2", last),
            load("W3", "X2", reads[0]) + reader + load("W4", "X1", reads[1]),
            r"1:X3=1 /\ 1:X4=0",
        )

    def store_buffering(left, right, stores="STR", loads="LDR"):
        return known(
            "SB",
            store(1, "X1", stores) + left + load("W3", "X2", loads),
            store(1, "X2", stores) + right + load("W3", "X1", loads),
            r"0:X3=0 /\ 1:X3=0",
        )

    def load_buffering(left, right, value="W9"):
        return known(
            "LB",
            load("W3", "X1") + left + ["MOV W9,#1", f"STR {value},[X2]"],
            load("W3", "X2") + right + ["MOV W9,#1", f"STR {value},[X1]"],
            r"0:X3=1 /\ 1:X3=1",
        )

    yield "MP", message_passing([], []), True
    yield "MP+dmb.st+po", message_passing(["DMB ISHST"], []), True
    yield "MP+po+dmb.ld", message_passing([], ["DMB ISHLD"]), True
    yield "MP+dmb.st+dmb.ld", message_passing(["DMB ISHST"], ["DMB ISHLD"]), False
    yield "MP+dmb.ld+dmb.ld", message_passing(["DMB ISHLD"], ["DMB ISHLD"]), True
    yield "MP+dmb.st+dmb.st", message_passing(["DMB ISHST"], ["DMB ISHST"]), True
    yield "MP+dmb+ctrl", message_passing(["DMB ISH"], ["CBZ W3,end", "end:"]), True
    yield "MP+rel+acq", message_passing([], [], ("LDAR", "LDR"), "STLR"), False
    yield "MP+rel+po", message_passing([], [], last="STLR"), True
    yield "SB", store_buffering([], []), True
    yield "SB+dmbs", store_buffering(["DMB ISH"], ["DMB ISH"]), False
    yield "SB+dmb+po", store_buffering(["DMB ISH"], []), True
    yield "SB+dmb.sts", store_buffering(["DMB ISHST"], ["DMB ISHST"]), True
    yield "SB+dmb.lds", store_buffering(["DMB ISHLD"], ["DMB ISHLD"]), True
    yield "SB+rel-acqs", store_buffering([], [], "STLR", "LDAR"), False
    yield "LB", load_buffering([], []), True
    yield "LB+dmb.lds", load_buffering(["DMB ISHLD"], ["DMB ISHLD"]), False
    yield "LB+dmb.sts", load_buffering(["DMB ISHST"], ["DMB ISHST"]), True
    yield "LB+ctrls", load_buffering(["CBZ W3,end", "end:"], ["CBZ W3,end", "end:"]), False
    yield "LB+ctrl+po", load_buffering(["CBZ W3,end", "end:"], []), True
    for between, allowed in ([], True), (["DMB ISHST"], False), (["DMB ISHLD"], True):
        yield f"2+2W+{between or 'po'}s", known(
            "2+2W",
            store(1, "X1") + between + store(2, "X2"),
            store(1, "X2") + between + store(2, "X1"),
            r"x=1 /\ y=1",
        ), allowed
    for between, allowed in (["DMB ISHST"], True), (["DMB ISH"], False):
        yield f"R+dmb.st+{between}", known(
            "R",
            store(1, "X1") + ["DMB ISHST"] + store(1, "X2"),
            store(2, "X2") + between + load("W3", "X1"),
            r"y=2 /\ 1:X3=0",
        ), allowed
    yield "CoRR", known(
        "CoRR", store(1, "X1"), load("W3", "X1") + load("W4", "X1"), r"1:X3=1 /\ 1:X4=0"
    ), False
    yield "CoRW", known("CoRW", load("W3", "X1") + store(1, "X1"), [], "0:X3=1"), False
    # An address that depends on what was read orders loads; P1 follows a pointer.
    yield "MP+dmb.st+addr", known(
        "MP",
        store(1, "X1") + ["DMB ISHST", "STR X1,[X2]"],
        ["LDR X3,[X2]", "LDR W4,[X3]"],
        r"1:X3=x /\ 1:X4=0",
        "{ x=0; y=z; z=5; 0:X1=x; 0:X2=y; 1:X1=x; 1:X2=y; }",
    ), False
    for pair, allowed in (
        ("LDR W3,[X1]; STR W9,[X1]", True),
        ("SWP W9,W3,[X1]", False),
        (
            "LDXR W3,[X1]; STXR W8,W9,[X1]",
            False,
        ),
    ):
        each = ["MOV W9,#1"] + [p.strip() for p in pair.split(";")]
        yield f"two exchanges: {pair}", known("X", each, each, r"0:X3=0 /\ 1:X3=0"), allowed
    # Stores reach all others at once: independent readers agree, a third hears in order.
    for between, allowed in ("", True), ("DMB ISHLD", False):
        yield f"IRIW+{between or 'po'}s", (
            "AArch64 IRIW\n{ x=0; y=0; 0:X1=x; 1:X1=y;"
            " 2:X1=x; 2:X2=y; 3:X1=x; 3:X2=y; }\n"
            "P0 | P1 | P2 | P3 ;\n"
            "MOV W9,#1 | MOV W9,#1 | LDR W3,[X1] | LDR W3,[X2] ;\n"
            f"STR W9,[X1] | STR W9,[X1] | {between} | {between} ;\n"
            " | | LDR W4,[X2] | LDR W4,[X1] ;\n"
            r"exists (2:X3=1 /\ 2:X4=0 /\ 3:X3=1 /\ 3:X4=0)"
        ), allowed


def main(folder):
    wrong = 0
    count = 0
    for name, text, allowed in shapes():
        count += 1
        if model.reaches(model.Test(text)) != allowed:
            print(f"the model is wrong about {name}: it is {'' if allowed else 'not '}allowed")
            wrong += 1
    print(f"{count} shapes of known outcome, {wrong} wrong")
    files = sorted(pathlib.Path(folder).glob("*.litmus"))
    if not files:
        print("no litmus tests")
        return 1
    for file in files:
        text = file.read_text()
        test = model.Test(text)
        bad = model.reaches(test)
        wrong += bad
        print(f"{file.name}: {'REACHED' if bad else 'never'}")
        for what, other in model.weakened(text):
            # The order of what the device does is the bus's: DMB SY stands for it.
            if what == "no DMB SY":
                continue
            reached = model.reaches(model.Test(other))
            wrong += not reached
            where = model.line_of(text, other)
            print(f"  line {where}, {what}: {'reached' if reached else 'STILL NEVER'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
