# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The drawings of docs/states.md, which draw.py writes. Their states and arrows come from the tables
and enumerations of hca. An arrow that is in no table stands here with the text of the line that
makes it: if that text is not in its file any more, the drawing fails."""
import html
import re
import sys

import draw

HCA = draw.ROOT / "hca"
OPERATION = "src/objects/object_operation.cpp"
# Boxes, the room for labels beside them, and the distances between arrows.
WIDE, LABELS, SLOT, LANE, GAP = 190, 250, 17, 9, 26


def read(name):
    return (HCA / name).read_text(encoding="utf-8")


def braces(name, begin):
    """What stands in the braces behind the text `begin`."""
    found = re.search(re.escape(begin) + r"[^{]*\{(.*?)\n *\};", read(name), re.DOTALL)
    if not found:
        sys.exit(f"states.py: no {begin} in hca/{name}")
    return found[1]


def enumerators(name, begin):
    return re.findall(r"^ *(\w+),", braces(name, begin), re.MULTILINE)


def rows(name, begin):
    """The rows of a constexpr table, each with the names in it. Comments do not count."""
    text = re.sub(r"//.*", "", braces(name, begin))
    return [re.findall(r"(?:\w+::)*(\w+)", row) for row in re.findall(r"\{([^{}]*)\}", text)]


def from_lines(arrows):
    """The arrows of a text. A line is: from > to: label | file | the text that makes the arrow."""
    for row in arrows.strip().splitlines():
        ends, name, text = (part.strip() for part in row.split("|", 2))
        source, target, words = re.fullmatch(r"(\w+) > (\w+): (.*)", ends).groups()
        if text not in re.sub(r"\s+", " ", read(f"src/{name}")):
            sys.exit(f"states.py: {source} to {target}: hca/src/{name} has no '{text}'")
        yield source, target, words


def picture(title, states, arrows):
    """The states stand in a column. Arrows down leave at the right, arrows up at the left."""
    at, sides = states, {True: [], False: []}
    merged = {}
    for source, target, words in arrows:
        merged.setdefault((source, target), []).append(words)
    for (source, target), words in merged.items():
        label = ", or ".join(dict.fromkeys(w for w in words if w))
        sides[at.index(target) >= at.index(source)].append((source, target, label))
    ends = {name: {True: 0, False: 0} for name in at}
    for side, found in sides.items():
        for source, target, _ in found:
            ends[source][side] += 1
            ends[target][side] += 1
    top, y = {}, 20
    for name in at:
        top[name] = y
        y += max(44, SLOT * max(ends[name].values()) + 8) + GAP
    used = {name: {True: 0, False: 0} for name in at}

    def slot(name, side):
        used[name][side] += 1
        return top[name] + SLOT * used[name][side]

    lines, labels, most = [], [], 0
    left = 20 + LABELS + LANE * (len(sides[False]) + 1)
    for side, found in sides.items():
        edge, way = (left + WIDE, 1) if side else (left, -1)
        lanes = []  # of each, the heights that are taken
        for source, target, words in sorted(found, key=lambda a: abs(top[a[0]] - top[a[1]])):
            y1, y2 = slot(source, side), slot(target, side)
            low, high = min(y1, y2), max(y1, y2)
            lane = next(
                (i for i, taken in enumerate(lanes) if all(high < a or low > b for a, b in taken)),
                len(lanes),
            )
            lanes += [[]] if lane == len(lanes) else []
            lanes[lane].append((low, high))
            x = edge + way * (LABELS + LANE * (lane + 1))
            lines.append(
                f'<path class="line" marker-end="url(#tip)" d="M{edge} {y1}H{x}V{y2}H{edge}"/>'
            )
            anchor = "start" if side else "end"
            if len(words) * 6.2 > LABELS:
                sys.exit(f"states.py: '{words}' is too long for its place")
            labels.append(
                f'<text class="says" style="text-anchor:{anchor}" x="{edge + way * 8}" '
                f'y="{y1 - 3}">{html.escape(words)}</text>'
            )
        most = len(lanes) if side else most
    for name in at:
        high = max(44, SLOT * max(ends[name].values()) + 8)
        lines.append(
            f'<rect class="box" x="{left}" y="{top[name]}" width="{WIDE}" height="{high}" rx="4"/>'
        )
        labels.append(draw.text(left + WIDE / 2, top[name] + high / 2 + 5, name, WIDE, "name"))
    width = left + WIDE + LABELS + LANE * (most + 2) + 10
    return draw.svg(width, y, title, lines + labels)


def bring_up():
    names = enumerators("include/freehca/hca/bring_up.hpp", "enum class bring_up_step")
    table = rows("src/sequence.cpp", "device::steps::table[bring_up_steps] =")
    if len(names) != len(table):
        sys.exit("states.py: bring_up_step and the table of its steps differ")
    arrows = []
    for i, (name, (_, undo, *_)) in enumerate(zip(names, table)):
        if i + 1 < len(names):
            arrows.append((name, names[i + 1], ""))
        if i > 0:
            arrows.append((name, names[i - 1], "" if undo == "nullptr" else undo))
    return picture("Bring-up and teardown", names, arrows)


def operation_steps():
    names = enumerators("include/freehca/hca/objects/object_operation.hpp", "enum class step")
    table = rows(OPERATION, "object_operation::transitions[] =")
    arrows = []
    for name, (after, undo, refused, doubt) in zip(names, table):
        if name == "idle":
            continue
        arrows += [
            (name, after, "done"),
            (name, undo, "done" if undo == after else "done, ends early"),
            (name, refused, "refused"),
        ]
        if doubt != "free":
            arrows.append((name, "idle", "not answered"))
    ordered = [*names[1:], "idle"]
    return picture("The steps of an operation on an object", ordered, arrows)


OBJECTS = """
free > creating: taken | objects/resources.cpp | = object_record::phase::creating
creating > live: created | OP | ? phase::live : phase::blank
creating > blank: created without a command | OP | ? phase::live : phase::blank
creating > free: undone | OP | owner_->release(object); finish(outcome_so_far_)
live > changing: modify, query | OP | adopt(object, phase::changing
blank > changing: modify | OP | adopt(object, phase::changing
changing > live: answered | OP | object_->state = phase::live
changing > blank: answered, in RESET | kinds/queue_pair_modify.cpp | state = phase::blank
live > destroying: destroy | OP | adopt(object, phase::destroying
blank > destroying: destroy | OP | adopt(object, phase::destroying
destroying > live: refused | OP | keeps_object ? phase::live : phase::held_until_reset
destroying > free: destroyed | OP | owner_->release(object); finish(outcome_so_far_)
destroying > held_until_reset: refused, no user | OP | ? phase::live : phase::held_until_reset
creating > held_until_reset: ended by a reset | OP | object.state = phase::held_until_reset;
destroying > held_until_reset: ended by a reset | OP | object.state = phase::held_until_reset;
destroying > reclaimable_blank: operation dropped | OP | ? phase::reclaimable : phase::reclaimable_
destroying > doubtful_unwinding: not answered, no user | OP | = phase::doubtful_unwinding
creating > reclaimable: operation dropped | OP | ? phase::reclaimable : phase::reclaimable_blank
creating > reclaimable_blank: the same | OP | ? phase::reclaimable : phase::reclaimable_blank
reclaimable > destroying: verbs::poll() | OP | object.state == phase::reclaimable
reclaimable_blank > destroying: verbs::poll() | OP | object.state == phase::reclaimable
""".replace(
    "OP", "objects/object_operation.cpp"
)


def objects():
    states = enumerators("include/freehca/hca/objects/object.hpp", "enum class phase")
    doubts = [name for name in states if name.startswith("doubtful")]
    arrows = list(from_lines(OBJECTS))
    of_step = {"create": "creating", "destroy": "destroying", "modify": "changing"}
    names = enumerators("include/freehca/hca/objects/object_operation.hpp", "enum class step")
    for name, row in zip(names, rows(OPERATION, "object_operation::transitions[] =")):
        if row[3] != "free":
            arrows.append((of_step[name], row[3], "not answered"))
    for name, (done, refused, reset) in zip(doubts, rows(OPERATION, "end_of_doubt ends[] =")):
        arrows += [(name, done, "done"), (name, refused, "refused"), (name, reset, "reset")]
    return picture("The states of an object", states, arrows)


BLOCKS = """
absent > map_pending: referenced | context_requests.cpp | b.state = block_state::map_pending;
map_pending > absent: no user, or no memory | context_lending.cpp | = block_state::absent; continue;
map_pending > mapping: MAP_ICM | context_lending.cpp | b->state = block_state::mapping;
mapping > mapped: done | context_lending.cpp | b->state = block_state::mapped;
mapping > absent: refused | context_lending.cpp | else take_back(*b);
mapping > doubtful_mapping: not answered | context_lending.cpp | = block_state::doubtful_mapping;
mapped > spare: no user | context_requests.cpp | b.state = block_state::spare;
mapped > unmap_pending: no user, no spares | context_requests.cpp | return unmap_pending_.push_back(b);
spare > mapped: referenced | context_requests.cpp | case block_state::spare: --spare_count_;
spare > unmap_pending: too old, too many | context_requests.cpp | oldest.state = block_state::unmap
unmap_pending > mapped: referenced | context_requests.cpp | block_state::unmap_pending: b.unlink();
unmap_pending > unmapping: UNMAP_ICM | context_lending.cpp | b->state = block_state::unmapping;
unmapping > absent: done | context_lending.cpp | take_back(*b); if (b->references == 0) continue;
unmapping > map_pending: done, but referenced | context_lending.cpp | b->state = block_state::map_pending;
unmapping > unmap_pending: not posted | context_lending.cpp | held_up_.push_back(*b);
unmapping > doubtful_unmapping: not answered | context_lending.cpp | = block_state::doubtful_unmapping;
unmapping > held_until_reset: refused | context_lending.cpp | b->state = block_state::held_until
doubtful_mapping > absent: refused | context_lending.cpp | end.answer.ok()) return self.take_back(b);
doubtful_mapping > unmap_pending: done | context_lending.cpp | self.unmap_pending_.push_back(b);
doubtful_unmapping > absent: done | context_lending.cpp | end.answer.ok()) return self.take_back(b)
doubtful_unmapping > held_until_reset: refused | context_lending.cpp | { b.state = block_state::held
"""


def blocks():
    header = "include/freehca/hca/context_tables.hpp"
    states = enumerators(header, "enum class block_state")
    return picture("The states of a block of context memory", states, from_lines(BLOCKS))


PORTS = """
read > limit: PortInfo was read | port_operation.cpp | return o.limit();
limit > limit: too many virtual lanes | port_operation.cpp | if (fewer) ++o.attempt_;
limit > change: SET_PORT was done | port_operation.cpp | if (limits && !fewer) return o.change();
change > end: answered, or in doubt | port_operation.cpp | p.changing = false; o.complete(outcome);
read > end: failed, or ends early | port_operation.cpp | outcome = o.stop_reason();
limit > end: failed, or ends early | port_operation.cpp | outcome = o.stop_reason();
"""


def ports():
    header = read("include/freehca/hca/port_operation.hpp")
    steps = re.findall(r"\w+", re.search(r"enum class step [^{]*\{(.*?)\}", header)[1])
    return picture("port_operation", [*steps, "end"], from_lines(PORTS))


DEVICES = """
closed > down: open() | device.cpp | state_ = device_state::down;
down > bringing_up: bring_up() | sequence.cpp | bringing_up; sequence_.start(done
bringing_up > up: all steps are done | sequence.cpp | state_ = device_state::up;
bringing_up > down: a step failed, all are undone | sequence.cpp | state_ = device_state::down; if (
bringing_up > in_doubt: a command was not answered | sequence.cpp | failed : device_state::in_doubt;
bringing_up > failed: the channel has failed | sequence.cpp | failed : device_state::in_doubt;
up > tearing_down: tear_down(), recover() | sequence.cpp | tearing_down; control_.commands.admit
up > failed: the device has failed | device.cpp | state_ = device_state::failed;
tearing_down > down: all steps are undone | sequence.cpp | state_ = device_state::down; if (
tearing_down > bringing_up: recover() | sequence.cpp | state_ = device_state::bringing_up; }
tearing_down > failed: the reset failed | sequence_reset.cpp | failed; return sequence_.end();
in_doubt > tearing_down: late answers, tear_down() | sequence_reset.cpp | tearing_down; sequence_.turn(
in_doubt > failed: the channel has failed | sequence_reset.cpp | device_state::failed; return; }
failed > tearing_down: tear_down(), recover() | sequence.cpp | tearing_down; control_.commands.admit
"""


def devices():
    states = enumerators("include/freehca/hca/device.hpp", "enum class device_state")
    return picture("The states of a device", states, from_lines(DEVICES))


PICTURES = {
    "device_states.svg": devices,
    "bring_up.svg": bring_up,
    "operation_steps.svg": operation_steps,
    "object_states.svg": objects,
    "block_states.svg": blocks,
    "port_operation.svg": ports,
}
