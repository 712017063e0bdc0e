#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""check_frames.py --kinds FILE CAPTURE...: captures of Ethernet ports, and what they hold. tshark
decodes each frame with nothing malformed, and finds all checksums of IP, TCP, UDP, ICMP and IGMP
right; each packet of RoCE has its shape and its ICRC (roce_frame.py: tshark 4.0 shows an ICRC and
does not verify it). Of each kind that the file names there is one frame at least in all captures
together, and of those behind the word "no" there is none. A kind is several traits, as in
vlan=7+pcp=3+roce2+rc: protocols by tshark's names, and those of `traits`."""
import argparse
import functools
import os
import subprocess
import sys
import tempfile
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "qom")]
import capture_file  # noqa: E402
import roce_frame  # noqa: E402

# All else is bytes to tshark. Its other decoders take data of any kind for theirs now and then.
DECODED = """_ws.expert _ws.malformed _ws.short _ws.string _ws.type_length _ws.unreassembled
_ws.number_string.decoding_error arp data dhcp eth ethertype frame icmp icmpv6 igmp infiniband ip
ipv6 ipv6.dstopts ipv6.fraghdr ipv6.hopopts llc ptp stp tcp udp vlan vxlan""".split()
CHECKSUMS = ("ip", "tcp", "udp", "icmp", "icmpv6", "igmp")
GOOD, UNVERIFIED, ABSENT = "1", "2", "3"
LONGEST = 1518  # what a frame has without a tag and without its FCS is 1514; a tag makes it 1518
# What tshark remarks is no fault below a warning, nor what it says of TCP's sequence numbers: that
# a connection ends by a reset, or that a segment came twice.
# The sum is right: zero has two forms. Linux writes this one where it computes a checksum itself,
# whatever the protocol (Linux 6.1 net/core/dev.c skb_checksum_help).
OTHER_ZERO = "TCP Checksum 0xffff instead of 0x0000 (see RFC 1624)"
WARNING, SEQUENCE = 0x600000, 0x2000000
FIELDS = [
    "frame.number",
    "frame.len",
    "frame.protocols",
    "eth.dst",
    "vlan.id",
    "vlan.priority",
    "ip.id",
    "ip.dsfield",
    "ipv6.tclass",
    "ip.flags.mf",
    "ip.frag_offset",
    "infiniband.bth.opcode",
    "infiniband.invariant.crc",
    "_ws.malformed",
    "_ws.expert.severity",
    "_ws.expert.group",
    "_ws.expert.message",
    *(f"{name}.checksum.status" for name in CHECKSUMS),
]
PREFERENCES = (
    "ip.check_checksum:TRUE",
    "ip.defragment:TRUE",
    "tcp.check_checksum:TRUE",
    "tcp.analyze_sequence_numbers:FALSE",
    "udp.check_checksum:TRUE",
    # RoCE has 0 there over IPv6 too; of what is not RoCE `wrong_checksums` takes none.
    "udp.ignore_ipv6_zero_checksum:TRUE",
)


def tshark(arguments, folder):
    """Its output, line by line; its settings are those of the folder."""
    environment = {**os.environ, "WIRESHARK_CONFIG_DIR": folder}
    with subprocess.Popen(
        ["tshark", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    ) as process:
        yield from process.stdout
    assert process.returncode == 0, f"tshark ended with {process.returncode}"


@functools.cache
def disabled_protocols():
    """All but those of DECODED, as the file in the folder of settings has them."""
    with tempfile.TemporaryDirectory(prefix="freehca-tshark-") as folder:
        known = [line.rstrip("\n").split("\t")[2] for line in tshark(["-G", "protocols"], folder)]
    missing = set(DECODED) - set(known)
    assert not missing, f"tshark does not know {missing}"
    return [name for name in known if name not in DECODED]


def decoded(path):
    """A dictionary of fields for each frame; of each field a list of all its values."""
    with tempfile.TemporaryDirectory(prefix="freehca-tshark-") as folder:
        with open(os.path.join(folder, "disabled_protos"), "w", encoding="utf-8") as file:
            file.writelines(name + "\n" for name in disabled_protocols())
        arguments = ["-n", "-r", path, "-T", "fields", "-E", "separator=|", "-E", "aggregator=;"]
        for preference in PREFERENCES:
            arguments += ["-o", preference]
        for field in FIELDS:
            arguments += ["-e", field]
        for line in tshark(arguments, folder):
            values = line.rstrip("\n").split("|")
            assert len(values) == len(FIELDS), line
            yield dict(zip(FIELDS, (value.split(";") if value else [] for value in values)))


def is_fragment(row):
    return (
        "1" in row["ip.flags.mf"]
        or any(int(word, 0) for word in row["ip.frag_offset"])
        or "ipv6.fraghdr" in row["frame.protocols"][0].split(":")
    )


def wrong_checksums(row):
    """The protocols whose checksum is not right."""
    protocols = set(row["frame.protocols"][0].split(":"))
    found = []
    for name in CHECKSUMS:
        for status in row[f"{name}.checksum.status"]:
            without = name == "udp" and ("infiniband" in protocols or "vxlan" in protocols)
            # Of a fragment all that lies above IP, of an answer of ICMP the packet that it quotes.
            part = name != "ip" and (is_fragment(row) or {"icmp", "icmpv6"} & protocols)
            if OTHER_ZERO in row["_ws.expert.message"] and name == "tcp":
                continue
            if status not in (GOOD, ABSENT if without else GOOD, UNVERIFIED if part else GOOD):
                found.append(f"checksum of {name}: {status}")
    return found


def wrongs(row, packet):
    """What is wrong with a frame to tshark, and with its packet of RoCE if it has one."""
    found = [f"malformed: {word}" for word in row["_ws.malformed"]]
    remarks = (row[f"_ws.expert.{name}"] for name in ("severity", "group", "message"))
    for severity, group, message in zip(*remarks, strict=True):
        if int(severity) >= WARNING and int(group) != SEQUENCE and message != OTHER_ZERO:
            found.append(message)
    found += wrong_checksums(row)
    is_roce = "infiniband" in row["frame.protocols"][0].split(":")
    if is_roce != (packet is not None):
        found.append("RoCE to one of tshark and roce_frame.py alone")
    if packet is not None:
        found += roce_frame.wrongs(packet)
        if is_roce and [int(word, 0) for word in row["infiniband.bth.opcode"]] != [
            packet.transport[0]
        ]:
            found.append("another opcode to tshark")
    return found


def traits(row, packet):
    """What kind of frame it is, as words."""
    found = set(row["frame.protocols"][0].split(":"))
    found |= {f"vlan={identifier}" for identifier in row["vlan.id"]}
    if not row["vlan.id"]:
        found.add("untagged")
    if any(int(word, 0) for word in row["ip.id"]):
        found.add("numbered")
    found |= {f"pcp={priority}" for priority in row["vlan.priority"]}
    found |= {f"tos={int(word, 0):#04x}" for word in row["ip.dsfield"] + row["ipv6.tclass"]}
    if int(row["eth.dst"][0][:2], 16) & 1:
        found.add("multicast")
    if int(row["frame.len"][0]) > LONGEST:
        found.add("jumbo")
    if is_fragment(row):
        found.add("fragment")
    if packet is not None:
        found |= roce_frame.traits(packet)
    return frozenset(found)


def check(path):
    """Counts the frames of a capture by their traits; the first wrong ones are printed."""
    kinds, wrong = Counter(), Counter()
    frames = capture_file.packets_of(path, capture_file.ETHERNET)
    for row in decoded(path):
        packet = roce_frame.packet_of(next(frames))
        kinds[traits(row, packet)] += 1
        found = wrongs(row, packet)
        if found:
            if sum(wrong.values()) < 10:
                shown = {field: values for field, values in row.items() if values}
                print(f"{path}: {'; '.join(found)}: {shown}")
            wrong.update(found)
    assert next(frames, None) is None, f"{path}: tshark does not show all frames"
    assert not wrong, f"{path}: {wrong.most_common(5)}"
    return kinds


def kinds_of(path):
    """Pairs of a kind and whether it is wanted."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split("#")[0].split() for line in file]
    kinds = [(words[-1], words[0] != "no") for words in lines if words]
    assert any(wanted for _, wanted in kinds), f"{path} wants nothing"
    return kinds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kinds", required=True)
    parser.add_argument("captures", nargs="+")
    options = parser.parse_args()
    kinds = Counter()
    for path in options.captures:
        kinds += check(path)
    roce = sum(times for kind, times in kinds.items() if "infiniband" in kind)
    print(
        f"{kinds.total()} frames: none malformed to tshark, checksums right; "
        f"{roce} of RoCE: ICRC and shape right"
    )
    wrong = []
    for name, wanted in kinds_of(options.kinds):
        seen = sum(times for kind, times in kinds.items() if set(name.split("+")) <= kind)
        print(f"{seen} of {name}")
        if (seen > 0) != wanted:
            wrong.append(f"no frame of {name}" if wanted else f"{seen} frames of {name}")
    if wrong:
        print("; ".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
