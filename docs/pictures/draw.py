#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""draw.py [--check]: draws the two pictures of docs/architecture.md beside this script: rooms.svg,
whose arrows are the #include lines of the tree, and command.svg, one command's life. Draws those of
docs/states.md too: states.py. With --check it writes nothing, and fails when a picture is not the
one that it would draw."""
import html
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "layering"))
sys.dont_write_bytecode = True
import include_directions

# Each picture has a ground of its own, so that it can be read whatever is behind it.
STYLE = """
.ground{fill:#fff} .zone{fill:#f3f5f8;stroke:#c9d0d9;stroke-dasharray:4 3}
.box{fill:#e3edfa;stroke:#4a6fa5} .line,.lane{fill:none;stroke:#4a5568;stroke-width:1.3}
.lane{stroke:#b5bcc7} .tip{fill:#4a5568} .dashed{stroke-dasharray:5 3}
text{font-family:"DejaVu Sans",Verdana,sans-serif;text-anchor:middle;fill:#1c2430}
.small,.says{font-size:11px} .head{font-size:13px} .name{font-size:13px;font-weight:bold} .left{text-anchor:start}
.says,.head{paint-order:stroke;stroke:#fff;stroke-width:5px;stroke-linejoin:round}
@media (prefers-color-scheme:dark){
.ground{fill:#12161c} .zone{fill:#1a2029;stroke:#3d4756} .box{fill:#22344f;stroke:#7fa3d8}
.line{stroke:#aab4c3} .lane{stroke:#4b5666} .tip{fill:#aab4c3} text{fill:#e6ebf2}
.says,.head{stroke:#12161c}}
"""


def svg(width, height, title, parts):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">\n'
        "<!-- SPDX-License-Identifier: BSD-2-Clause; Copyright the freehca authors;"
        " drawn by docs/pictures/draw.py -->\n"
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>\n'
        f'<rect class="ground" width="{width}" height="{height}" rx="6"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def text(x, y, words, room, look="small"):
    """One line of text in `room` units of width; the script fails where it would not fit."""
    if len(words) * (8.4 if "name" in look else 6.9) > room:
        sys.exit(f"draw.py: '{words}' is too long for its place")
    return f'<text class="{look}" x="{x:g}" y="{y:g}">{html.escape(words)}</text>'


# ---- The rooms.

HCA = "hca/include/freehca/hca"
# Name: the beginnings of the paths in it (the longest one that fits counts), what it is, the column
# of its left edge, and how many columns it takes. Its row follows from the arrows.
ROOMS = {
    "hcactl": (["vfio_host/hcactl", "vfio_user/hcactl"], "the tool", 1.3, 1),
    "demo_in_process": (["examples/demo_in_process"], "driver and model", 4.25, 1),
    "bench": (["bench"], "measurements", 5.2, 1),
    "loopback_traffic": (["loopback_traffic"], "whose every byte is checked", 4.4, 1.3),
    "conformance": (["conformance"], "what adapters answer", 5.8, 1),
    "description": (["vfio_host/description"], "an adapter in words", 7.6, 1),
    "programs": (
        [
            *("examples/write_once", "examples/counting", "examples/many_tasks"),
            *("examples/event_loop", "examples/raw_command", "examples/two_hosts"),
            *("examples/many_threads", "examples/frames", "examples/bare"),
        ],
        *("small examples", 0, 1),
    ),
    "examples/in_process": (["examples/in_process"], "its host", 2.9, 1.3),
    "blocking": (["vfio_host/blocking"], "for programs that block", 0, 1.2),
    "easy": (["faces/easy"], "memory and connections, ready to use", 2, 2),
    "interfaces": (["faces/interfaces"], "by name and version", 9.75, 0.9),
    "network": (["network"], "an Ethernet interface", 1, 1),
    "hca: kinds": (
        [f"{HCA}/kinds", f"{HCA}/every_kind.hpp", "hca/src/kinds"],
        *("one file for each kind of object", 2, 2),
    ),
    "hca: objects": (
        [f"{HCA}/objects", "hca/src/objects"],
        *("the engine, which names no kind", 2, 2),
    ),
    "hca": (
        # An event queue finds objects by their records, without the engine.
        ["hca", *(f"{HCA}/objects/{name}.hpp" for name in ("number_directory", "object", "kind"))],
        *("device: bring-up, memory, ports, reset", 2, 2),
    ),
    "vfio_host": (["vfio_host"], "port to Linux", 0, 0.95),
    "vfio_user_host": (["vfio_user/host", "vfio_user/blocking"], "port to a socket", 6.2, 1),
    "vfio_user": (["vfio_user/protocol", "vfio_user/client"], "messages on a socket", 7.2, 1),
    "wires": (["wires"], "cables of programs", 7.8, 1),
    "keeper": (["vfio_user/keeper"], "what a client told", 7.7, 1),
    "device_server": (["vfio_user/server"], "the model's process", 7.7, 1),
    "switch": (["switch"], "joins cables", 8.6, 1),
    "firmware_cmds": (["firmware_cmds"], "command channel", 2, 1),
    "queues": (["queues"], "rings", 3, 1),
    "work_requests": (["work_requests"], "run-time opcodes", 10.5, 1),
    "texts": (["faces/texts"], "numbers in words", 0.9, 1),
    "bare": (
        [
            *("hal/targets/bare", "hal/targets/x86_64-bare", "hal/targets/aarch64-bare"),
            *("hal/targets/riscv64-bare", "hal/targets/device_tree", "hal/targets/boards"),
        ],
        *("port to no OS", 11.5, 1),
    ),
    "in_process": (["hal/targets/in_process"], "port to the model", 4, 1),
    "in_program": (["hal/targets/in_program"], "port inside a program", 8.6, 1),
    "process_memory": (["hal/targets/process_memory"], "rights and copies", 0.5, 1),
    "ibverbs": (["ibverbs/face", "ibverbs/in_program"], "libibverbs on the driver", 8.6, 1.1),
    "verbs, VFIO": (["ibverbs/vfio"], "a PCI function", 0, 1),
    "freehca-run": (["ibverbs/run", "ibverbs/files"], "launcher, files", 9.6, 1),
    "recording": (["qemu/recording"], "replays sessions", 4.7, 1),
    "qom": (["qemu/qom"], "the QEMU device", 6.2, 1),
    "hal": (["hal"], "operation, platform, DMA, MMIO", 2, 2),
    "packets": (["packets"], "CRCs, MADs of packets", 5.7, 1),
    "model": (["qemu/model"], "adapter in software", 5.7, 1),
    "layouts": (
        ["hal/layouts"],
        "tables of the hardware's structures, for driver and model",
        2,
        4.7,
    ),
}
# Rooms that stand on a ground of their own.
ZONES = {
    "the core: freestanding": ["hca: kinds", "firmware_cmds", "queues", "hal"],
    "the model": ["model", "recording", "qom"],
}
COLUMN, ROW, WIDE, HIGH = 176, 88, 156, 46


def room_of(path):
    fitting = [
        (len(beginning), name)
        for name, room in ROOMS.items()
        for beginning in room[0]
        if path == beginning or path.startswith(beginning + "/")
    ]
    if not fitting:
        sys.exit(f"draw.py: {path} is in no room: ROOMS in docs/pictures/draw.py")
    return max(fitting)[1]


def arrows():
    """From each room to those whose headers it includes, without those that follow from others."""
    includes, headers = [], {}
    for top in sorted({room[0][0].split("/")[0] for room in ROOMS.values()}):
        for file in sorted((ROOT / top).rglob("*")):
            path = file.relative_to(ROOT).as_posix()
            if file.suffix not in include_directions.SUFFIXES or not file.is_file():
                continue
            if "/include/" in path:
                headers[path.split("/include/", 1)[1]] = path
            found = include_directions.INCLUDE.findall(file.read_text(encoding="utf-8"))
            includes += [(path, header) for _, header in found if header.startswith("freehca/")]
    to = {name: set() for name in ROOMS}
    for path, header in includes:
        to[room_of(path)].add(room_of(headers[header]))

    def reached(name, above=()):
        if name in above:
            sys.exit(f"draw.py: {name} includes itself by way of others")
        direct = to[name] - {name}
        return direct.union(*(reached(other, (*above, name)) for other in direct))

    for name in ROOMS:
        farther = set().union(*(reached(other) for other in to[name] - {name}))
        yield from ((name, other) for other in ROOMS if other in to[name] - farther - {name})


def rooms():
    margin, top = 20, 34
    drawn = list(arrows())

    def height_of(name):
        return max((1 + height_of(below) for above, below in drawn if above == name), default=0)

    rows = max(height_of(name) for name in ROOMS)
    place = {}
    for name, (_, _, column, columns) in ROOMS.items():
        x, y = margin + column * COLUMN, top + (rows - height_of(name)) * ROW
        width = WIDE + (columns - 1) * COLUMN
        if any(y == b and x < a + wide and a < x + width for a, b, wide in place.values()):
            sys.exit(f"draw.py: {name} stands upon another room; change its column")
        place[name] = (x, y, width)
    parts, labels = [], []
    for words, names in ZONES.items():
        x, y = min(place[n][0] for n in names) - 10, min(place[n][1] for n in names) - 30
        width = max(place[n][0] + place[n][2] for n in names) + 10 - x
        high = max(place[n][1] for n in names) + HIGH + 10 - y
        parts.append(
            f'<rect class="zone" x="{x:g}" y="{y}" width="{width:g}" height="{high}" rx="6"/>'
        )
        labels.append(text(x + 8, y + 15, words, width, "says left"))

    def centre(name):
        return place[name][0] + place[name][2] / 2

    def door(name, other, side):
        """Where the arrow between the two leaves `name` (side 0), or arrives there (side 1)."""
        others = [a[1 - side] for a in drawn if a[side] == name]
        others.sort(key=centre)
        x, _, width = place[name]
        return x + width * (others.index(other) + 1) / (len(others) + 1)

    def hidden(x, upper, lower):
        """Would a line down from `upper` to `lower` pass behind a room?"""
        return any(a - 6 < x < a + wide + 6 and upper < y < lower for a, y, wide in place.values())

    for source, target in drawn:
        x1, y1 = door(source, target, 0), place[source][1] + HIGH
        x2, y2 = door(target, source, 1), place[target][1]
        # Aside between the last two rows, or between the first two if the way down is free there.
        gap = ROW - HIGH
        for x, upper, lower, turn in ((x1, y1, y2 - gap, y2 - gap), (x2, y1 + gap, y2, y1)):
            if not hidden(x, upper, lower):
                break
        else:
            sys.exit(f"draw.py: no way from {source} down to {target}; change a column")
        bend, rest = turn + gap / 2, "" if turn + gap == y2 else f"V{y2:g}"
        parts.append(
            f'<path class="line" marker-end="url(#tip)" d="M{x1:g} {y1:g}V{turn:g}'
            f'C{x1:g} {bend:g} {x2:g} {bend:g} {x2:g} {turn + gap:g}{rest}"/>'
        )
    for name, (_, words, *_) in ROOMS.items():
        x, y, width = place[name]
        parts.append(
            f'<rect class="box" x="{x:g}" y="{y}" width="{width:g}" height="{HIGH}" rx="4"/>'
        )
        parts.append(text(centre(name), y + 19, name, width, "name"))
        parts.append(text(centre(name), y + 36, words, width))
    parts += labels
    height = top + rows * ROW + HIGH + margin
    width = max(x + width for x, _, width in place.values()) + margin
    return svg(f"{width:g}", height, "Rooms: who includes whom", parts)


# ---- One command's life.

LANES = ["user", "operation", "channel", "event queue", "firmware"]
# From lane, to lane, what happens; or the head of what follows. What the adapter does by itself is
# dashed.
LIFE = [
    "A completion queue is made: create_completion_queue",
    ("user", "operation", "start(verbs, attributes)"),
    ("operation", "operation", "build(): number, ring, the command"),
    ("operation", "operation", "context memory, by MAP_ICM if need be"),
    ("operation", "channel", "submit(command, leases)"),
    ("user", "channel", "verbs::poll(): whatever is ready is posted"),
    ("channel", "firmware", "input mailbox, then the command register's words, GO last"),
    ("firmware", "firmware", "does the work", "dashed"),
    ("firmware", "event queue", "entry: token, status", "dashed"),
    ("event queue", "event queue", "interrupt: notify() takes note", "dashed"),
    ("user", "event queue", "verbs::poll(): reads the entries first"),
    ("event queue", "channel", "on_completion(token)"),
    ("channel", "operation", "leases back; complete()"),
    ("operation", "user", "done(): ok, and the handle"),
    "The same, when no answer comes before the deadline",
    ("user", "channel", "verbs::poll(): the deadline has passed"),
    ("channel", "operation", "timeout; leases in doubt"),
    ("operation", "user", "done(): timeout, no handle"),
    ("firmware", "event queue", "entry, late", "dashed"),
    ("user", "event queue", "verbs::poll()"),
    ("event queue", "channel", "on_completion(token)"),
    ("channel", "operation", "settled(), of the object"),
    ("operation", "channel", "if it was made: HW2SW_CQ"),
]


def command():
    apart, first, step, width = 215, 110, 34, 1080
    x_of = {name: first + i * apart for i, name in enumerate(LANES)}
    y, marks = 64, []
    for what in LIFE:
        if isinstance(what, str):
            y += 18
            marks.append(f'<text class="head left" x="20" y="{y}">{html.escape(what)}</text>')
            y += step
            continue
        source, target, words, *dashed = what
        x1, x2 = x_of[source], x_of[target]
        look = " ".join(["line", *dashed])
        if source == target:
            shape = f"M{x1} {y - 10}h16v12h-13"
            marks.append(text(x1, y - 16, words, 290, "says"))
        else:
            shape = f"M{x1} {y}H{x2 + (3 if x2 < x1 else -3)}"
            marks.append(text((x1 + x2) / 2, y - 6, words, abs(x2 - x1) - 8, "says"))
        marks.append(f'<path class="{look}" marker-end="url(#tip)" d="{shape}"/>')
        y += step
    parts = []
    for name, x in x_of.items():
        parts.append(f'<path class="lane" d="M{x} 50V{y - 16}"/>')
        parts.append(f'<rect class="box" x="{x - 70}" y="16" width="140" height="34" rx="4"/>')
        parts.append(text(x, 38, name, 140, "name"))
    return svg(width, y, "One command's life", parts + marks)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    import states

    stale = []
    for name, drawn in {"rooms.svg": rooms, "command.svg": command, **states.PICTURES}.items():
        file, picture = FOLDER / name, drawn()
        if not sys.argv[1:]:
            file.write_text(picture, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != picture:
            stale.append(name)
    if stale:
        sys.exit(f"{', '.join(stale)}: no longer what the tree looks like; docs/pictures/draw.py")


if __name__ == "__main__":
    main()
