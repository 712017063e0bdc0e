# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The packets of a capture of InfiniBand, as tshark decodes them, counted by kind."""
import collections
import pathlib
import struct
import sys
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "model"))
from check_captures import decoded  # noqa: E402

FIELDS = ("slid", "lrh.lnh", "lrh.pktlen", "bth.opcode", "bth.padcnt", "bth.destqp", "bth.psn")
# IBTA vol. 1, 9.2.2, table 38: the operation is in bits 4 to 0, the service in bits 7 to 5.
SEND, WRITE, READ, READ_ANSWER, ATOMIC = range(5), range(6, 12), (12,), range(13, 17), (19, 20)
SERVICES = {0: "rc", 1: "uc", 3: "ud"}
LRH, GRH, BTH, ICRC = 8, 40, 12, 4
DETH, RETH, ATOMIC_ETH, AETH, IMMEDIATE = 8, 16, 28, 4, 4
WITH_IMMEDIATE = {3, 5, 9, 11}  # of sends and writes: last and only
FIRST_OF_WRITE = {6, 10, 11}  # first, only, only with immediate
PCAP_HEADER, PCAP_RECORD, IPV4_HEADER, IPV6_HEADER = 24, 16, 20, 40
ROCE_V1, ROCE_V2_PORT = b"\x89\x15", (4791).to_bytes(2, "big")
WITH_AETH = {13, 15, 16}  # of answers to reads: first, last, only


class Packet(typing.NamedTuple):
    sent: bool  # by the port whose capture this is
    service: str
    operation: int
    queue: int  # the destination's number
    psn: int
    payload: int  # bytes


def headers_of(service, operation):
    """Bytes of the extended headers between BTH and payload."""
    size = DETH if service == "ud" else 0
    if operation in FIRST_OF_WRITE or operation in READ:
        size += RETH
    if operation in ATOMIC:
        size += ATOMIC_ETH
    if operation in WITH_AETH:
        size += AETH
    if operation in WITH_IMMEDIATE:
        size += IMMEDIATE
    return size


def packets_of(path, own_lid):
    """Of the capture of the port that has this LID."""
    words = ["-T", "fields", "-E", "separator=|"]
    names = ["infiniband.lrh." + FIELDS[0], *("infiniband." + name for name in FIELDS[1:])]
    for name in names:
        words += ["-e", name]
    for line in decoded(str(path), *words):
        slid, lnh, length, opcode, pad, queue, psn = (int(v or "0", 0) for v in line.split("|"))
        service, operation = SERVICES.get(opcode >> 5), opcode & 31
        if service is None:
            raise ValueError(f"{path}: opcode {opcode:#x}")
        # LRH:PktLen counts words from the LRH to the last byte before the VCRC.
        payload = 4 * length - LRH - (GRH if lnh == 3 else 0) - BTH - ICRC - pad
        payload -= headers_of(service, operation)
        yield Packet(slid == own_lid, service, operation, queue, psn, payload)


def frames_of(path):
    """The frames of a capture of Ethernet (pcap in this machine's byte order)."""
    data = pathlib.Path(path).read_bytes()
    at = PCAP_HEADER
    while at < len(data):
        (size,) = struct.unpack_from("=I", data, at + 8)
        yield data[at + PCAP_RECORD : at + PCAP_RECORD + size]
        at += PCAP_RECORD + size


def tags_of(path):
    """The VLAN and the priority of each RoCE frame of a capture, or None: it has no tag."""
    for frame in frames_of(path):
        kind, at, tag = frame[12:14], 14, None
        if kind == b"\x81\x00":
            (word,) = struct.unpack_from(">H", frame, at)
            kind, at, tag = frame[16:18], 18, (word & 0xFFF, word >> 13)
        udp = at + IPV4_HEADER if kind == b"\x08\x00" else at + IPV6_HEADER
        if kind == ROCE_V1 or frame[udp + 2 : udp + 4] == ROCE_V2_PORT:
            yield tag


class Count(typing.NamedTuple):
    packets: int  # with distinct PSNs
    payload: int  # bytes of these
    repeats: int


def count(packets, operations, sent, service):
    """Packets of these operations in one direction; those that were sent again are counted apart."""
    seen, repeats = {}, 0
    for packet in packets:
        if packet.sent != sent or packet.operation not in operations or packet.service != service:
            continue
        if (packet.queue, packet.psn) in seen:
            repeats += 1
        seen[packet.queue, packet.psn] = packet.payload
    return Count(len(seen), sum(seen.values()), repeats)


def operations_seen(packets):
    return collections.Counter((p.service, p.operation, p.sent) for p in packets)
