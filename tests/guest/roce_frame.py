# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The packet of RoCE in a frame of Ethernet, taken apart with nothing of the model's: lengths, the
headers that its opcode demands, and the ICRC computed anew (IBTA vol. 1, A16 and A17; Linux 6.1
rxe_icrc.c `rxe_icrc_hdr`)."""
import os
import struct
import sys
import zlib
from collections import namedtuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "qom"))
import packet_shape as shape  # noqa: E402

MACS, TAG_BYTES, UDP_BYTES, IPV6_BYTES, IPV4_BYTES = 12, 4, 8, 40, 20
TAG, ROCE_1, IPV4, IPV6 = b"\x81\x00", b"\x89\x15", b"\x08\x00", b"\x86\xdd"
BTH_FOLLOWS, UDP = 0x1B, 17
PORT = 4791
ICRC_BYTES = 4
SERVICES = {shape.RC: "rc", shape.UC: "uc", shape.UD: "ud", shape.XRC: "xrc"}
OPERATIONS = {
    "send": (*range(shape.SEND_FIRST, shape.WRITE_FIRST), 22, 23),
    "write": range(shape.WRITE_FIRST, shape.READ_REQUEST),
    "read": range(shape.READ_REQUEST, shape.ACKNOWLEDGE),
    "acknowledge": (shape.ACKNOWLEDGE,),
    "atomic": range(shape.ATOMIC_ACKNOWLEDGE, shape.FETCH_AND_ADD + 1),
}

# Network: the GRH, or the header of IP and that of UDP. Transport: from BTH to the padding.
Packet = namedtuple("Packet", "version ip network transport icrc")


def packet_of(frame):
    """None: the frame carries none."""
    at = MACS
    while frame[at : at + 2] == TAG:
        at += TAG_BYTES
    kind, rest = frame[at : at + 2], frame[at + 2 :]
    if kind == ROCE_1:
        version, ip, header = 1, 6, IPV6_BYTES
    elif (
        kind == IPV4 and len(rest) >= IPV4_BYTES and rest[9] == UDP and not rest[6] & 0x3F | rest[7]
    ):
        version, ip, header = 2, 4, (rest[0] & 0x0F) * 4 + UDP_BYTES
    elif kind == IPV6 and len(rest) >= IPV6_BYTES and rest[6] == UDP:
        version, ip, header = 2, 6, IPV6_BYTES + UDP_BYTES
    else:
        return None
    if version == 2 and rest[header - 6 : header - 4] != PORT.to_bytes(2, "big"):
        return None
    return Packet(version, ip, rest[:header], rest[header:-ICRC_BYTES], rest[-ICRC_BYTES:])


def icrc(packet):
    masked = bytearray(packet.network + packet.transport)
    if packet.ip == 6:
        masked[0] |= 0x0F
        masked[1:4] = b"\xff" * 3
        masked[7] = 0xFF
    else:
        masked[1] = masked[8] = 0xFF
        masked[10:12] = b"\xff" * 2
    if packet.version == 2:
        masked[len(packet.network) - 2 : len(packet.network)] = b"\xff" * 2
    masked[len(packet.network) + 4] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked)))


def wrong_lengths(packet):
    """Of the network header: nothing stands behind the ICRC."""
    length = len(packet.transport) + ICRC_BYTES
    network = packet.network
    if packet.version == 1:
        return (
            struct.unpack_from(">HB", network, 4) != (length, BTH_FOLLOWS) or network[0] >> 4 != 6
        )
    udp = length + UDP_BYTES
    if struct.unpack_from(">H", network, len(network) - 4) != (udp,):
        return True
    if packet.ip == 6:
        return struct.unpack_from(">H", network, 4) != (udp,)
    return network[0] != 0x45 or struct.unpack_from(">H", network, 2) != (udp + IPV4_BYTES,)


def wrongs(packet):
    """What is wrong with it, as a list of words."""
    if len(packet.network) < IPV4_BYTES + UDP_BYTES or len(packet.transport) < shape.BTH:
        return ["short"]
    found = []
    if wrong_lengths(packet):
        found.append("lengths or version of the network header")
    if packet.icrc != icrc(packet):
        found.append(f"ICRC {packet.icrc.hex()}, not {icrc(packet).hex()}")
    # Headers and payload are those of InfiniBand behind an LRH and a GRH.
    rest = packet.transport + packet.icrc
    words = (shape.GRH + 8 + len(rest)) // 4
    lrh = struct.pack(">BBHHH", 0, 3, 0, words, 0)
    grh = struct.pack(">IHBB", 6 << 28, len(rest), BTH_FOLLOWS, 0) + bytes(32)
    return found + shape.wrongs(lrh + grh + rest + bytes(shape.VCRC))


def traits(packet):
    """What kind of packet it is, as words."""
    opcode = packet.transport[0]
    service = SERVICES.get(opcode & 0xE0, "other")
    operation = next((n for n, codes in OPERATIONS.items() if opcode & 0x1F in codes), "other")
    return {f"roce{packet.version}", service, operation}
