#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""check_captures.py TESTS: runs the model's tests of traffic with a capture of all their packets, has tshark decode
it, and computes each ICRC and VCRC anew. Exit status 77: there is no tshark."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "qom"))
import wire  # noqa: E402

# No test here sends what is malformed on purpose.
FILTER = "rc.*:ud.*:xrc.*:wire.*:cable_traffic.*:ports_bring_up.*:ports_wire.*qp1:-wire.random_packets_*:*cut_off"
# These look for their own protocol in any payload, and find it in a pattern now and then.
GUESSERS = ("infiniband.eoib", "rpcordma", "smc", "idp")
LINK_TYPE = 247
RC, UC, UD, XRC = 0x00, 0x20, 0x60, 0xA0
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM = range(6)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = range(6, 12)
READ_REQUEST, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY, ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, CAS, ADD = range(12, 21)
WANTED = {
    **{RC | operation: f"RC operation {operation}" for operation in range(SEND_FIRST, ADD + 1)},
    UC | SEND_FIRST: "UC send first", UC | SEND_LAST: "UC send last",
    UD | SEND_ONLY: "UD send", UD | SEND_ONLY_IMM: "UD send with immediate",
    XRC | SEND_FIRST: "XRC send first", XRC | WRITE_FIRST: "XRC write first", XRC | READ_REQUEST: "XRC read",
    XRC | ACKNOWLEDGE: "XRC acknowledge",
}
ACK, RNR_NAK, NAK = 0, 1, 3


def packets_of(path):
    with open(path, "rb") as file:
        data = file.read()
    magic, _, _, _, _, link_type = struct.unpack_from("<6I", data)
    assert (magic, link_type) == (0xA1B23C4D, LINK_TYPE), (hex(magic), link_type)
    at = 24
    while at < len(data):
        _, _, kept, length = struct.unpack_from("<4I", data, at)
        assert kept == length
        yield data[at + 16:at + 16 + kept]
        at += 16 + kept


def check_bytes(path):
    """Counts what there is; the CRCs are right."""
    found = Counter()
    for packet in packets_of(path):
        assert wire.is_sealed(packet), packet.hex()
        route = 8 + (40 if packet[1] & 3 == 3 else 0)
        opcode = packet[route]
        found[opcode] += 1
        found["global"] += route > 8
        found["multicast"] += 0xC000 <= int.from_bytes(packet[2:4], "big") < 0xFFFF
        queue_pair = int.from_bytes(packet[route + 5:route + 8], "big")
        if opcode == UD | SEND_ONLY and queue_pair < 2:
            found[f"QP{queue_pair}"] += 1
        if opcode & 0x1F == ACKNOWLEDGE:
            found["syndrome", packet[route + 12] >> 5] += 1
    missing = [name for opcode, name in WANTED.items() if not found[opcode]]
    missing += [str(kind) for kind in ("global", "multicast", "QP0", "QP1", ("syndrome", ACK), ("syndrome", RNR_NAK),
                                       ("syndrome", NAK)) if not found[kind]]
    assert not missing, f"no packet of: {', '.join(missing)}"
    return sum(count for opcode, count in found.items() if isinstance(opcode, int))


def decoded(path, *arguments):
    """What tshark says of a capture, a line for each packet. Wireshark 4.0 has the decoder but does not know the number
    247: a copy says 147, which a user may give any meaning, and its meaning is given."""
    copy = path + ".user0"
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data[20:24] = struct.pack("<I", 147)
    with open(copy, "wb") as file:
        file.write(data)
    return subprocess.run(["tshark", "-n", "-r", copy, "-o",
                           'uat:user_dlts:"User 0 (DLT=147)","infiniband","0","","0",""',
                           *(word for name in GUESSERS for word in ("--disable-protocol", name)), *arguments],
                          check=True, capture_output=True, text=True).stdout.splitlines()


def check_tshark(path, count):
    fields = ["frame.number", "frame.protocols", "_ws.malformed", "_ws.expert.message", "infiniband.bth.opcode"]
    output = decoded(path, "-T", "fields", "-E", "separator=|", *(word for field in fields for word in ("-e", field)))
    assert len(output) == count, (len(output), count)
    bad = Counter()
    for line in output:
        number, protocols, malformed, expert, opcode = line.split("|", 4)
        if malformed or expert or "infiniband" not in protocols or not opcode:
            bad[protocols, malformed, expert, opcode] += 1
            if sum(bad.values()) < 10:
                print(f"frame {number}: {line}")
    assert not bad, bad


def main():
    if not shutil.which("tshark"):
        print("SKIPPED: no tshark here (Debian's package tshark)")
        return 77
    with tempfile.TemporaryDirectory(prefix="freehca-capture-") as folder:
        path = os.path.join(folder, "packets.pcap")
        subprocess.run([sys.argv[1], f"--gtest_filter={FILTER}", "--gtest_brief=1"], check=True,
                       env={**os.environ, "FREEHCA_CAPTURE": path})
        count = check_bytes(path)
        check_tshark(path, count)
        print(f"{count} packets: decoded, with both CRCs right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
