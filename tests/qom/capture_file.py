# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Reads a file of captured packets in the format of libpcap, version 2.4, with nanoseconds, of the
host's byte order; each packet is there whole."""
import struct

MAGIC_NANOSECONDS, VERSION = 0xA1B23C4D, 0x40002
ETHERNET, INFINIBAND = 1, 247


def timed_packets_of(path, link_type):
    """Pairs of nanoseconds and bytes; an AssertionError when the file is none of this link type."""
    with open(path, "rb") as file:
        data = file.read()
    magic, version, _, _, _, found = struct.unpack_from("<6I", data)
    assert (magic, version, found) == (MAGIC_NANOSECONDS, VERSION, link_type), data[:24].hex()
    at = 24
    while at < len(data):
        seconds, nanoseconds, kept, length = struct.unpack_from("<4I", data, at)
        assert kept == length and at + 16 + kept <= len(data), f"cut off at byte {at} of {path}"
        yield seconds * 1_000_000_000 + nanoseconds, data[at + 16 : at + 16 + kept]
        at += 16 + kept


def packets_of(path, link_type):
    for _, packet in timed_packets_of(path, link_type):
        yield packet
