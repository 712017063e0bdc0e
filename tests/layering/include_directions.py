#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""include_directions.py ROOT: every #include of the tree points the way that docs/architecture.md
says."""
import pathlib
import re
import sys

CORE = ["hal", "layouts"]
# The C++ headers that a freestanding implementation has (C++20, [compliance]).
FREESTANDING = set(
    "atomic bit cfloat climits compare concepts coroutine cstdarg cstddef cstdint initializer_list "
    "limits new source_location type_traits version".split()
)
# Path prefix: the owners it may include, and whether its standard headers are held to the list
# above. The longest prefix that fits counts.
RULES = {
    "hal/layouts": (["layouts"], True),
    "hal": (CORE, True),
    "firmware_cmds": (CORE + ["firmware_cmds"], True),
    "queues": (CORE + ["queues"], True),
    "hca": (CORE + ["firmware_cmds", "queues", "hca"], True),
    # Requests of run-time opcodes: for programs, not for the core.
    "work_requests": (CORE + ["queues", "work_requests"], True),
    # A network interface on the core, for network stacks.
    "network": (CORE + ["firmware_cmds", "queues", "hca", "network"], True),
    # Faces of the core, for programs and ports. The core includes none of them.
    "faces/easy": (CORE + ["queues", "hca", "easy"], True),
    "faces/interfaces": (CORE + ["firmware_cmds", "queues", "hca", "interfaces"], True),
    "faces/texts": (CORE + ["hca", "texts"], True),
    # The list of conformance runs in images, too.
    "conformance": (CORE + ["firmware_cmds", "queues", "hca", "texts", "conformance"], True),
    "hal/targets": (CORE, False),
    # The one that sees both sides: driver and model in one process.
    "hal/targets/in_process": (
        CORE + ["firmware_cmds", "queues", "hca", "texts", "model", "process_memory", "in_process"],
        False,
    ),
    # Memory of the process that an adapter uses.
    "hal/targets/process_memory": (["process_memory"], False),
    # Neither an operating system nor a C library is there: the port and the images see what the
    # core sees.
    # The second of the two that see both sides.
    "hal/targets/in_program": (
        CORE + ["hca", "texts", "model", "packets", "process_memory", "in_process", "in_program"],
        False,
    ),
    "hal/targets/bare": (CORE + ["texts", "bare"], True),
    "hal/targets/x86_64-bare": (CORE + ["texts", "bare"], True),
    "hal/targets/aarch64-bare": (CORE + ["bare", "device_tree"], True),
    "hal/targets/riscv64-bare": (CORE + ["bare", "device_tree"], True),
    # Boards without a device tree; of it they have the serial lines.
    "hal/targets/boards": (CORE + ["bare", "device_tree"], True),
    # What firmware hands over, for those of them that are told so what the machine has.
    "hal/targets/device_tree": (CORE + ["bare", "device_tree"], True),
    "examples/bare": (
        CORE + ["firmware_cmds", "queues", "hca", "texts", "conformance", "bare"],
        True,
    ),
    # The one image with a foreign library: lwIP.
    "examples/bare/web": (CORE + ["queues", "hca", "network", "texts", "bare"], True),
    "vfio_host": (CORE + ["firmware_cmds", "queues", "hca", "texts", "vfio_host"], False),
    # The tool stands in the uppermost layer, beside the examples.
    "vfio_host/hcactl": (
        CORE
        + ["firmware_cmds", "queues", "hca", "network", "easy", "texts", "vfio_host", "blocking"]
        + ["conformance", "description", "loopback_traffic", "recorder"],
        False,
    ),
    # Of the model it sees the format of recordings, which both write.
    "vfio_host/recorder": (CORE + ["recorder", "model"], False),
    "vfio_host/description": (CORE + ["firmware_cmds", "hca", "texts", "description"], False),
    "loopback_traffic": (
        CORE + ["queues", "work_requests", "hca", "texts", "blocking", "loopback_traffic"],
        False,
    ),
    "examples/demo_in_process": (
        CORE + ["hca", "texts", "in_process", "blocking", "description", "loopback_traffic"],
        False,
    ),
    "vfio_host/blocking": (
        CORE + ["firmware_cmds", "queues", "hca", "easy", "texts", "vfio_host", "blocking"],
        False,
    ),
    "examples/in_process": (CORE + ["hca", "in_process", "blocking"], False),
    # A program sees what is installed.
    "examples/write_once": (CORE + ["queues", "hca", "blocking"], False),
    "examples/many_tasks": (CORE + ["queues", "hca", "blocking"], False),
    "examples/counting": (CORE + ["queues", "hca", "blocking"], False),
    "examples/event_loop": (CORE + ["queues", "hca", "blocking"], False),
    "examples/raw_command": (CORE + ["firmware_cmds", "queues", "hca", "blocking"], False),
    "examples/frames": (CORE + ["queues", "hca", "network", "easy", "blocking"], False),
    "examples/two_hosts": (CORE + ["firmware_cmds", "queues", "hca", "easy", "blocking"], False),
    "vfio_host/include": (CORE + ["vfio_host"], False),
    "vfio_host/src": (CORE + ["texts", "process_memory", "vfio_host"], False),
    # What both ends of a vfio-user socket stand on: neither driver nor model.
    "vfio_user/protocol": (["vfio_user", "wires"], False),
    # Of the model its face for C, as QEMU's device; and where doorbells stand in a page that a
    # client maps.
    "vfio_user/server": (
        ["layouts", "vfio_user", "keeper", "wires", "closed_process", "captures", "model"],
        False,
    ),
    # What a client has told, whatever the adapter is.
    "vfio_user/keeper": (["vfio_user", "keeper"], False),
    "vfio_user/client": (["vfio_user"], False),
    # What opens an adapter for programs that block.
    "vfio_user/blocking": (CORE + ["blocking", "vfio_user_host"], False),
    # Cables of programs, and the owner of a descriptor.
    "wires": (["wires", "closed_process"], False),
    # What a program gives up after its start, whatever the program is.
    "wires/closed_process": (["wires", "closed_process"], False),
    "wires/captures": (["wires", "captures"], False),
    # It is linked into objects that programs load, and stands on nothing else.
    "wires/shm": (["wires_shm"], False),
    # What model and switch both know of packets.
    "packets": (["layouts", "packets"], False),
    "qemu/model": (["layouts", "packets", "model"], False),
    # A switch knows neither adapters nor sockets; its program brings those.
    "switch/common": (["switch_common"], False),
    "switch/infiniband": (["layouts", "packets", "switch_common", "infiniband_switch"], False),
    "switch/ethernet": (["layouts", "switch_common", "ethernet_switch"], False),
    "switch/program": (
        ["wires", "closed_process", "switch_common", "infiniband_switch", "ethernet_switch"],
        False,
    ),
    # The face knows the driver alone. Each library for programs adds the place of the adapter.
    "ibverbs/face": (
        CORE + ["firmware_cmds", "queues", "work_requests", "hca", "texts", "ibverbs_files"],
        False,
    ),
    "ibverbs/in_program": (
        CORE
        + ["firmware_cmds", "queues", "hca", "model", "in_program"]
        + ["packets", "process_memory", "wires_shm", "captures"],
        False,
    ),
    "ibverbs/vfio": (CORE + ["firmware_cmds", "queues", "hca", "vfio_host"], False),
    # What answers for files knows no driver; the launcher lists fabrics.
    "ibverbs/files": (["ibverbs_files"], False),
    "ibverbs/run": (["wires_shm"], False),
    # Configuration space, which the model leaves to its surroundings, is in_process's.
    "qemu/recording": (["layouts", "model", "in_process", "recording"], False),
    "qemu/qom": (["model"], False),
}
# The rooms of the model, from the lowest to the uppermost: each may include itself and what stands
# before it here, always by its folder's name.
MODEL = "qemu/model/src/"
MODEL_ROOMS = (
    "saving faults basis command tables frames link queues fabric ports steering transport firmware device"
).split()
# What stands in front of a BTH is known to link codecs, and to the rooms that make and read whole
# packets. The others see link_codec and what it hands out.
ROOMS_WITH_WHOLE_PACKETS = ("link", "fabric", "ports")
HEADERS_OF_WHOLE_PACKETS = re.compile(
    r"^(link/(infiniband_\w+|roce_\w+|global_route|wire_form)|"
    r"freehca/packets/(mad_packet|link_packets|wire_form|packet_crc))\.hpp$"
)
# No part of these knows an operating system: the model, and what decides in a switch.
WITHOUT_OPERATING_SYSTEM = (
    "qemu/model packets switch/common switch/infiniband switch/ethernet".split()
)
WORDS_OF_WHOLE_PACKETS = re.compile(r"\b(lrh|bth_variant|link_next_header)\b")
# Of the model these see what is declared for C.
SEE_THE_C_FACE = ("qemu/qom", "vfio_user/server")
QEMU_FOLDERS = (
    "qemu/",
    "hw/",
    "exec/",
    "qapi/",
    "qom/",
    "migration/",
    "sysemu/",
    "system/",
    "standard-headers/",
)
LWIP_FOLDERS = ("lwip/", "netif/", "arch/")
OPERATING_SYSTEM = re.compile(
    r"^(sys/|linux/|unistd\.h|pthread\.h|fcntl\.h|poll\.h|glib|thread$|mutex$|chrono$)"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
SUFFIXES = {".hpp", ".cpp", ".h", ".c"}


def rule_for(path):
    fitting = [p for p in RULES if path.startswith(p + "/")]
    return max(fitting, key=len) if fitting else None


def complaint_in_model(path, name):
    """Why a file of the model must not include this file of the model; None when it may."""
    own, other = path[len(MODEL) :].split("/")[0], name.split("/")[0]
    if own not in MODEL_ROOMS:
        return f"{own} is no room of the model"
    if "/" not in name or other not in MODEL_ROOMS or ".." in name.split("/"):
        return "a header of the model is named with its room"
    if MODEL_ROOMS.index(other) > MODEL_ROOMS.index(own):
        return f"{other} stands above {own}"
    return whole_packet_complaint(path, name)


def whole_packet_complaint(path, name):
    """The same, of headers that know what stands in front of a BTH."""
    own = path[len(MODEL) :].split("/")[0]
    if not path.startswith(MODEL) or own in ROOMS_WITH_WHOLE_PACKETS:
        return None
    if HEADERS_OF_WHOLE_PACKETS.match(name):
        return f"{own} knows packets by link/link_codec.hpp alone"
    return None


def words_complaint(path, text):
    """The word of a link's own headers that a file of the model must not name; None: none."""
    if not path.startswith(MODEL) or path[len(MODEL) :].split("/")[0] in ROOMS_WITH_WHOLE_PACKETS:
        return None
    found = WORDS_OF_WHOLE_PACKETS.search(text)
    return found and found.group()


def complaint(path, quote, name):
    """Why the file at `path` must not include `name`; None when it may."""
    prefix = rule_for(path)
    if prefix is None:
        return None
    owners, freestanding = RULES[prefix]
    if name.startswith("freehca/"):
        owner = name.split("/")[1]
        if whole_packet_complaint(path, name):
            return whole_packet_complaint(path, name)
        if prefix in SEE_THE_C_FACE and owner == "model" and name != "freehca/model/c_api.h":
            return "only the model's C face may be seen from here"
        return None if owner in owners else f"{prefix} may see {', '.join(owners)} only"
    if name.startswith(LWIP_FOLDERS):
        return None if prefix == "examples/bare/web" else "only the image web may see lwIP"
    is_qemu = name.startswith(QEMU_FOLDERS)
    if is_qemu and prefix != "qemu/qom":
        return "only qemu/qom may include QEMU's headers"
    if prefix == "qemu/model" and (quote == '"' or name.split("/")[0] in MODEL_ROOMS):
        if path.startswith(MODEL):
            return complaint_in_model(path, name)
        return "a header for others sees none of the model's rooms"
    if quote == '"':
        return None
    if freestanding and name not in FREESTANDING:
        return "not a header of a freestanding implementation"
    if prefix in WITHOUT_OPERATING_SYSTEM and OPERATING_SYSTEM.match(name):
        return f"{prefix} includes no header of an operating system"
    return None


def check_the_checker():
    refused = [
        ("firmware_cmds/src/a.cpp", "<", "freehca/queues/cq.hpp"),
        ("hal/src/a.cpp", "<", "freehca/texts/text.hpp"),
        ("firmware_cmds/src/a.cpp", "<", "freehca/texts/text.hpp"),
        ("queues/src/a.cpp", "<", "freehca/texts/names.hpp"),
        ("hca/src/a.cpp", "<", "freehca/texts/text.hpp"),
        ("hca/src/a.cpp", "<", "freehca/interfaces/attributes.hpp"),
        ("hca/src/a.cpp", "<", "freehca/easy/adapter.hpp"),
        ("queues/src/a.cpp", "<", "freehca/work_requests/send_request.hpp"),
        ("hca/src/a.cpp", "<", "freehca/work_requests/send_request.hpp"),
        ("faces/easy/src/a.cpp", "<", "freehca/work_requests/send_request.hpp"),
        ("hca/src/a.cpp", "<", "freehca/network/interface.hpp"),
        ("network/src/a.cpp", "<", "freehca/easy/adapter.hpp"),
        ("network/src/a.cpp", "<", "vector"),
        ("work_requests/src/a.cpp", "<", "freehca/hca/device.hpp"),
        ("work_requests/src/a.cpp", "<", "vector"),
        ("faces/easy/src/a.cpp", "<", "freehca/texts/text.hpp"),
        ("faces/texts/src/a.cpp", "<", "freehca/queues/cq.hpp"),
        ("queues/include/freehca/queues/a.hpp", "<", "freehca/firmware_cmds/channel.hpp"),
        ("hal/src/a.cpp", "<", "freehca/hca/device.hpp"),
        ("hal/layouts/include/freehca/layouts/a.hpp", "<", "freehca/hal/status.hpp"),
        ("qemu/model/src/link/a.cpp", "<", "freehca/hal/status.hpp"),
        ("qemu/model/src/link/a.cpp", '"', "qemu/osdep.h"),
        ("qemu/model/src/link/a.cpp", "<", "unistd.h"),
        ("qemu/model/src/link/a.cpp", '"', "transport/transport.hpp"),
        ("qemu/model/src/link/a.cpp", "<", "transport/transport.hpp"),
        ("qemu/model/src/link/a.cpp", '"', "link/../transport/transport.hpp"),
        ("qemu/model/src/transport/a.cpp", '"', "link/infiniband_codec.hpp"),
        ("qemu/model/src/transport/a.cpp", '"', "link/roce_codec.hpp"),
        ("qemu/model/src/steering/a.cpp", '"', "link/wire_form.hpp"),
        ("qemu/model/src/steering/a.cpp", "<", "freehca/packets/wire_form.hpp"),
        ("packets/src/a.cpp", "<", "freehca/model/device.hpp"),
        ("packets/src/a.cpp", "<", "sys/socket.h"),
        ("switch/infiniband/src/a.cpp", "<", "unistd.h"),
        ("switch/infiniband/src/a.cpp", "<", "freehca/wires/wire.hpp"),
        ("switch/ethernet/src/a.cpp", "<", "freehca/infiniband_switch/switch_node.hpp"),
        ("switch/program/src/a.cpp", "<", "freehca/model/c_api.h"),
        ("wires/src/a.cpp", "<", "freehca/model/c_api.h"),
        ("wires/src/a.cpp", "<", "freehca/vfio_user/channel.hpp"),
        ("wires/shm/src/a.cpp", "<", "freehca/wires/descriptor.hpp"),
        ("wires/closed_process/src/a.cpp", "<", "freehca/captures/packet_file.hpp"),
        ("qemu/model/src/link/a.cpp", "<", "freehca/closed_process/closing.hpp"),
        ("wires/shm/src/a.cpp", "<", "freehca/packets/wire_form.hpp"),
        ("wires/descriptor/include/freehca/wires/a.hpp", "<", "freehca/layouts/headers.hpp"),
        ("switch/program/src/a.cpp", "<", "freehca/vfio_user/channel.hpp"),
        ("qemu/model/include/freehca/model/a.hpp", '"', "link/packet.hpp"),
        ("qemu/model/src/link/a.cpp", '"', "packet.hpp"),
        ("qemu/model/src/a.cpp", '"', "link/packet.hpp"),
        ("vfio_host/src/a.cpp", "<", "freehca/model/device.hpp"),
        ("vfio_host/src/a.cpp", "<", "freehca/blocking/host.hpp"),
        ("examples/write_once/a.cpp", "<", "freehca/vfio_host/vfio_device.hpp"),
        ("vfio_host/blocking/a.hpp", "<", "freehca/loopback_traffic/traffic.hpp"),
        ("vfio_host/src/a.cpp", "<", "freehca/loopback_traffic/traffic.hpp"),
        ("loopback_traffic/src/a.cpp", "<", "freehca/vfio_host/vfio_device.hpp"),
        ("hca/src/a.cpp", "<", "vector"),
        ("hca/src/a.cpp", "<", "freehca/conformance/list.hpp"),
        ("conformance/src/a.cpp", "<", "vector"),
        ("conformance/src/a.cpp", "<", "freehca/blocking/session.hpp"),
        ("qemu/qom/a.c", '"', "freehca/model/device.hpp"),
        ("qemu/qom/a.c", '"', "freehca/hal/status.hpp"),
        ("vfio_user/server/src/a.cpp", "<", "freehca/model/device.hpp"),
        ("vfio_user/server/src/a.cpp", "<", "freehca/hca/device.hpp"),
        ("vfio_user/protocol/src/a.cpp", "<", "freehca/model/c_api.h"),
        ("qemu/model/src/link/a.cpp", "<", "freehca/vfio_user/messages.hpp"),
        ("qemu/recording/src/a.cpp", "<", "freehca/hca/device.hpp"),
        ("qemu/model/src/link/a.cpp", "<", "freehca/recording/recording.hpp"),
        ("hal/targets/process_memory/src/a.cpp", "<", "freehca/hal/status.hpp"),
        ("hca/src/a.cpp", "<", "freehca/process_memory/guarded_copy.hpp"),
        (
            "vfio_host/include/freehca/vfio_host/a.hpp",
            "<",
            "freehca/process_memory/guarded_copy.hpp",
        ),
        ("hal/targets/bare/a.cpp", "<", "freehca/model/device.hpp"),
        ("hal/targets/bare/a.cpp", "<", "cstring"),
        ("hal/targets/x86_64-bare/a.cpp", "<", "freehca/hca/device.hpp"),
        ("examples/bare/bringup/a.cpp", "<", "vector"),
        ("examples/bare/bringup/a.cpp", "<", "lwip/tcp.h"),
        ("examples/bare/web/a.cpp", "<", "string.h"),
        ("ibverbs/files/src/a.cpp", "<", "freehca/hca/device.hpp"),
        ("ibverbs/run/src/a.cpp", "<", "freehca/ibverbs_files/device_facts.hpp"),
        ("ibverbs/face/src/a.cpp", "<", "freehca/in_program/adapter.hpp"),
        ("ibverbs/vfio/src/a.cpp", "<", "freehca/model/device.hpp"),
    ]
    allowed = [
        ("hca/src/a.cpp", "<", "freehca/queues/cq.hpp"),
        ("hal/targets/in_process/src/a.cpp", "<", "freehca/model/device.hpp"),
        ("vfio_user/server/src/a.cpp", "<", "freehca/model/c_api.h"),
        ("vfio_user/server/src/a.cpp", "<", "freehca/vfio_user/channel.hpp"),
        ("qemu/qom/a.c", '"', "qemu/osdep.h"),
        ("qemu/qom/a.c", '"', "freehca/model/c_api.h"),
        ("qemu/model/src/link/a.cpp", "<", "vector"),
        ("qemu/model/src/link/a.cpp", '"', "link/packet.hpp"),
        ("qemu/model/src/transport/a.cpp", '"', "link/packet.hpp"),
        ("qemu/model/src/link/a.cpp", "<", "freehca/packets/wire_form.hpp"),
        ("qemu/model/src/frames/a.cpp", "<", "freehca/packets/crc.hpp"),
        ("switch/infiniband/src/a.cpp", "<", "freehca/packets/wire_form.hpp"),
        ("switch/program/src/a.cpp", "<", "sys/socket.h"),
        ("qemu/model/src/transport/a.cpp", '"', "link/link_codec.hpp"),
        ("qemu/model/src/ports/a.cpp", '"', "link/infiniband_codec.hpp"),
        ("hca/src/a.cpp", "<", "cstdint"),
        ("examples/bare/web/a.cpp", "<", "lwip/tcp.h"),
        ("work_requests/src/a.cpp", "<", "freehca/queues/sq.hpp"),
        ("ibverbs/face/src/a.cpp", "<", "freehca/work_requests/send_request.hpp"),
        ("vfio_host/src/a.cpp", "<", "freehca/process_memory/guarded_copy.hpp"),
        ("hal/targets/in_process/src/a.cpp", "<", "freehca/process_memory/guarded_copy.hpp"),
    ]
    wrong = [c for c in refused if complaint(*c) is None] + [
        c for c in allowed if complaint(*c) is not None
    ]
    if wrong:
        sys.exit(f"the checker itself is wrong about {wrong}")
    where = [f"qemu/model/src/{room}/a.cpp" for room in ("transport", "link")]
    if [words_complaint(a, "image<lrh> local;") for a in where] != ["lrh", None]:
        sys.exit("the checker itself is wrong about words")


def main():
    check_the_checker()
    root = pathlib.Path(sys.argv[1])
    found = []
    files = 0
    for top in (
        "hal",
        "firmware_cmds",
        "queues",
        "work_requests",
        "hca",
        "faces",
        "network",
        "conformance",
        "vfio_host",
        "vfio_user",
        "wires",
        "loopback_traffic",
        "examples",
        "packets",
        "switch",
        "ibverbs",
        "qemu/model",
        "qemu/recording",
        "qemu/qom",
    ):
        for path in sorted((root / top).rglob("*")):
            relative = path.relative_to(root).as_posix()
            if path.suffix not in SUFFIXES or "/build/" in relative:
                continue
            files += 1
            if relative.startswith(MODEL) and relative.split("/")[3] not in MODEL_ROOMS:
                found.append(f"{relative}: it stands in no room of the model")
            text = path.read_text(encoding="utf-8")
            word = words_complaint(relative, text)
            if word:
                found.append(f"{relative}: {word}: a header of one link, for its codec alone")
            for quote, name in INCLUDE.findall(text):
                why = complaint(relative, quote, name)
                if why:
                    found.append(f"{relative}: {name}: {why}")
    print(*found, sep="\n")
    print(f"{files} files, {len(found)} wrong includes")
    sys.exit(1 if found or not files else 0)


if __name__ == "__main__":
    main()
