#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""check_captures.py TESTS: runs the model's tests of traffic with a capture of all their packets,
has tshark decode it, and computes each ICRC and VCRC anew. check_captures.py --file CAPTURE: the
same for a capture that is there. Exit status 77: there is no tshark."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "qom"))
import capture_file  # noqa: E402
import packet_shape as shape  # noqa: E402
import wire  # noqa: E402

# No test here sends what is malformed on purpose, or a pattern where a management datagram should
# be.
FILTER = (
    "rc.*:ud.*:xrc.*:wire.*:cable_traffic.*:ports_bring_up.*:ports_wire.*qp1:fast_registration.*:memory_windows.*:"
    "masked_atomics.*:path_migrations.*:srq.*:special.*:rc_errors.*:-wire.random_packets_*:*cut_off:special.a_general*"
)
# These look for their own protocol in any payload, and find it in a pattern now and then.
GUESSERS = ("infiniband.eoib", "rpcordma", "smc", "idp")
# IPoIB's connected mode cuts packets of IP into several of InfiniBand.
CUT = ("ip", "ipv6")
# tshark 4.0 knows XRC by the names of its opcodes alone and masked atomics not at all, and tells
# what follows the base header as a vendor's own: packet_shape looks at those.
NOT_TSHARKS = (shape.XRC, shape.RC_MASKED, shape.XRC_MASKED)
WANTED = {
    **{shape.RC | o: f"RC operation {o}" for o in shape.OPERATIONS},
    **{
        shape.UC | o: f"UC operation {o}"
        for o in range(shape.SEND_FIRST, shape.WRITE_ONLY_IMMEDIATE + 1)
    },
    shape.UD | shape.SEND_ONLY: "UD send",
    shape.UD | shape.SEND_ONLY_IMMEDIATE: "UD send with immediate",
    **{
        shape.XRC | o: f"XRC operation {o}"
        for o in range(shape.SEND_FIRST, shape.FETCH_AND_ADD + 1)
        if o != shape.COMPARE_AND_SWAP
    },
    shape.RC_MASKED | shape.COMPARE_AND_SWAP: "RC masked compare and swap",
    shape.RC_MASKED | shape.FETCH_AND_ADD: "RC masked fetch and add",
}
KINDS = (
    "global",
    "multicast",
    "asks to migrate",
    "QP0",
    "QP1",
    ("syndrome", shape.ACK),
    ("syndrome", shape.NOT_READY),
    ("syndrome", shape.NOT_ACKNOWLEDGED),
)
# IPoIB in both modes and rdma_cm.
WANTED_OF_A_GUEST = {
    shape.RC | shape.SEND_ONLY: "RC send",
    shape.RC | shape.SEND_FIRST: "RC send of several packets",
    shape.RC | shape.ACKNOWLEDGE: "RC acknowledge",
    shape.UD | shape.SEND_ONLY: "UD send",
}


def check_bytes(path):
    """Each packet has its shape, and the CRCs are right. Counts what there is."""
    found = Counter()
    for packet in capture_file.packets_of(path, capture_file.INFINIBAND):
        assert wire.is_sealed(packet), packet.hex()
        wrong = shape.wrongs(packet)
        assert not wrong, (wrong, packet.hex())
        route = 8 + (40 if packet[1] & 3 == 3 else 0)
        opcode = packet[route]
        found[opcode] += 1
        found["global"] += route > 8
        found["multicast"] += 0xC000 <= int.from_bytes(packet[2:4], "big") < 0xFFFF
        queue_pair = int.from_bytes(packet[route + 5 : route + 8], "big")
        found["asks to migrate"] += not packet[route + 1] & 0x40
        if opcode == shape.UD | shape.SEND_ONLY and queue_pair < 2:
            found[f"QP{queue_pair}"] += 1
        if opcode & 0x1F == shape.ACKNOWLEDGE:
            found["syndrome", packet[route + 12] >> 5] += 1
    return found


def check_kinds(found, opcodes, kinds):
    missing = [name for opcode, name in opcodes.items() if not found[opcode]] + [
        str(k) for k in kinds if not found[k]
    ]
    assert not missing, f"no packet of: {', '.join(missing)}"


def decoded(path, *arguments):
    """What tshark says of a capture, a line for each packet. Wireshark 4.0 has the decoder but does
    not know the number 247: a copy says 147, which a user may give any meaning, and its meaning is
    given."""
    copy = path + ".user0"
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data[20:24] = struct.pack("<I", 147)
    with open(copy, "wb") as file:
        file.write(data)
    return subprocess.run(
        [
            "tshark",
            "-n",
            "-r",
            copy,
            "-o",
            'uat:user_dlts:"User 0 (DLT=147)","infiniband","0","","0",""',
            *(word for name in GUESSERS + CUT for word in ("--disable-protocol", name)),
            *arguments,
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()


def check_tshark(path, count):
    """All decode with nothing malformed; returns how many tshark knows to the end."""
    fields = [
        "frame.number",
        "frame.protocols",
        "_ws.malformed",
        "_ws.expert.message",
        "infiniband.bth.opcode",
        "infiniband.vendor",
    ]
    output = decoded(
        path,
        "-T",
        "fields",
        "-E",
        "separator=|",
        *(word for field in fields for word in ("-e", field)),
    )
    assert len(output) == count, (len(output), count)
    bad, known = Counter(), 0
    for line in output:
        number, protocols, malformed, expert, opcode, vendors_own = line.split("|", 5)
        not_tsharks = opcode and int(opcode, 0) & 0xE0 in NOT_TSHARKS
        known += not not_tsharks
        if (
            malformed
            or expert
            or "infiniband" not in protocols
            or not opcode
            or vendors_own
            and not not_tsharks
        ):
            bad[protocols, malformed, expert, opcode, vendors_own != ""] += 1
            if sum(bad.values()) < 10:
                print(f"frame {number}: {line}")
    assert not bad, bad.most_common(5)
    return known


def check(path):
    """Prints what is in a capture that has nothing wrong, and returns it by kind."""
    found = check_bytes(path)
    count = sum(times for opcode, times in found.items() if isinstance(opcode, int))
    known = check_tshark(path, count)
    print(
        f"{count} packets of {sum(isinstance(kind, int) for kind in found)} opcodes: shapes and both CRCs right, "
        f"none malformed to tshark, which knows {known} of them to the end"
    )
    return found


def main():
    if not shutil.which("tshark"):
        print("SKIPPED: no tshark here (Debian's package tshark)")
        return 77
    if sys.argv[1] == "--file":
        check_kinds(check(sys.argv[2]), WANTED_OF_A_GUEST, ("multicast", "QP0", "QP1"))
        return 0
    with tempfile.TemporaryDirectory(prefix="freehca-capture-") as folder:
        path = os.path.join(folder, "packets.pcap")
        subprocess.run(
            [sys.argv[1], f"--gtest_filter={FILTER}", "--gtest_brief=1"],
            check=True,
            env={**os.environ, "FREEHCA_CAPTURE": path},
        )
        check_kinds(check(path), WANTED, KINDS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
