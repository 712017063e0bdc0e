# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The bytes that RDMA writes of a capture bring, as tshark decodes them, beside the bytes that lie
in the target's memory and those that the requester drew."""
import random
import re

from check_captures import decoded
from expectations import expect
from packets import FIRST_OF_WRITE, WRITE

FIELDS = ("infiniband.lrh.slid", "infiniband.bth.opcode", "infiniband.bth.psn")
FIELDS += ("infiniband.bth.padcnt", "infiniband.reth.va", "infiniband.reth.dmalen", "data.data")


def pieces(path, requester):
    """Pairs of address and bytes: what each RDMA write packet of the port with this LID brings."""
    words = ["-T", "fields", "-E", "separator=|"]
    for field in FIELDS:
        words += ["-e", field]
    seen, address, left = set(), 0, 0
    for line in decoded(str(path), *words):
        slid, opcode, psn, pad, start, length, data = line.split("|")
        operation = int(opcode, 0)
        if int(slid, 0) != requester or operation not in WRITE or psn in seen:
            continue
        seen.add(psn)
        if operation in FIRST_OF_WRITE:
            expect(left == 0, f"{path.name}: a write begins before the last one has ended")
            address, left = int(start, 0), int(length, 0)
        payload = bytes.fromhex(data)
        payload = payload[: len(payload) - int(pad or "0", 0)]
        yield address, payload
        address, left = address + len(payload), left - len(payload)
    expect(left == 0, f"{path.name}: the last write does not end")


def check(folder, ends, requester):
    """`ends`: the two processes; `requester`: the LID of the one that wrote."""
    first = int((folder / "address").read_text(encoding="ascii"))
    target = (folder / "target").read_bytes()
    seed = int(re.search(r"^seed (\d+)$", ends[1].output(), re.MULTILINE)[1])
    drawn = random.Random(seed).randbytes(len(target))
    expect(target == drawn, f"the target's memory is not the pattern of seed {seed}")
    for end in ends:
        carried, covered = bytearray(len(target)), 0
        for address, payload in pieces(end.capture, requester):
            place = address - first
            expect(0 <= place <= len(target) - len(payload), f"a write to {address:#x}")
            carried[place : place + len(payload)] = payload
            covered += len(payload)
        expect(covered == len(target), f"{end.capture.name}: {covered} bytes of {len(target)}")
        expect(
            carried == target,
            f"{end.capture.name}: the payload is not what lies in the target's memory (seed {seed})",
        )
