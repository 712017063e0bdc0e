#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""planted_answers.py RECORDING: what an adapter answered is changed in ten places of a recording of
the modelled adapter, and ./dev replay has to find each, with its row of the documentation, and
nothing else. RECORDING is what `hcactl record` wrote, as it is or packed by gzip."""
import gzip
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUERY_DEV_CAP, QUERY_FW, QUERY_ADAPTER, QUERY_PORT = 0x03, 0x04, 0x06, 0x43
MODEL, CHOSEN = "docs/model.md", 'docs/hardware-model-core.md, "No source: chosen"'
CAPABILITIES, COMMANDS = f'{MODEL}, "Capabilities"', f'{MODEL}, "Commands"'
# The opcode whose output mailbox is changed, the byte in it, the bits; the field and the row that
# the program must name.
PLACES = [
    (QUERY_FW, 0x07, 0x01, "query_fw.fw_rev_minor", f'{COMMANDS}, row "QUERY_FW"'),
    (QUERY_FW, 0x36, 0x01, "query_fw.error_buf_offset", f'{CHOSEN}, row "places in BAR 0"'),
    (
        QUERY_DEV_CAP,
        0x13,
        0x01,
        "query_dev_cap.log_max_qps",
        f'{CHOSEN}, row "limits beyond what the captures give"',
    ),
    (QUERY_DEV_CAP, 0x4C, 0x80, "query_dev_cap.bf", f'{CAPABILITIES}, row "blueflame"'),
    (QUERY_DEV_CAP, 0x47, 0x40, "query_dev_cap.flags", f'{CAPABILITIES}, row "srq"'),
    (QUERY_DEV_CAP, 0x45, 0x20, "query_dev_cap.flags", f'{CAPABILITIES}, row "multicast"'),
    (
        QUERY_ADAPTER,
        0x04,
        0x01,
        "reserved bits of the word at 0x4",
        f'{COMMANDS}, row "QUERY_ADAPTER"',
    ),
    (QUERY_PORT, 0x01, 0x01, "query_port.ib_mtu", f'{COMMANDS}, row "QUERY_PORT"'),
]
# A completion of a receive, and one of an RDMA write.
COMPLETIONS = [
    (False, 0x00, 0x17, 0x01, "cqe.byte_count", f'{MODEL}, "Work requests", row "SEND"'),
    (True, 0x08, 0x19, 0x01, "cqe_send.wqe_index", f'{MODEL}, "Work requests", row "RDMA_WRITE"'),
]


def number(value):
    return int(value, 0) if isinstance(value, str) else value


def changed(record, at, bits):
    """Whether the byte stood in the record."""
    data = bytearray.fromhex(record.get("hex", ""))
    if at >= len(data):
        return False
    data[at] ^= bits
    record["hex"] = data.hex()
    return True


def plant(records):
    """Changes the first record that fits of each place; the fields and rows that must be told."""
    wanted = []
    for opcode, at, bits, field, row in PLACES:
        wanted.append((field, row))
        if not any(
            changed(record, at, bits)
            for record in records
            if record.get("what") == "output_mailbox" and number(record["of"]) == opcode
        ):
            sys.exit(f"planted_answers: the recording has no place for {field}")
    for is_send, opcode, at, bits, field, row in COMPLETIONS:
        wanted.append((field, row))
        for record in records:
            data = bytes.fromhex(record.get("hex", "")) if record.get("what") == "cqe" else b""
            # The last byte of a CQE: its opcode, and 0x40 where a send has ended.
            if len(data) < 32 or bool(data[31] & 0x40) != is_send:
                continue
            if (not is_send or data[31] & 0x1F == opcode) and changed(record, at, bits):
                break
        else:
            sys.exit(f"planted_answers: the recording has no completion for {field}")
    return wanted


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        opener = gzip.open if file.read(2) == b"\x1f\x8b" else open
    with opener(sys.argv[1], "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    wanted = plant(records)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "planted.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        replay = subprocess.run(
            [os.path.join(ROOT, "dev"), "replay", path],
            check=False,
            text=True,
            stdout=subprocess.PIPE,
        )
    told = [line for line in replay.stdout.splitlines() if "; docs/" in line]
    for field, row in wanted:
        found = [line for line in told if f": {field}: " in line and line.endswith(row)]
        if not found:
            sys.exit(f"planted_answers: {field}, {row}: not found in\n{replay.stdout}")
        print(found[0])
    if replay.returncode != 1 or len(told) != len(wanted):
        sys.exit(f"planted_answers: status {replay.returncode}, and in all\n{replay.stdout}")
    print(f"{len(wanted)} places were changed, and {len(told)} differences found")


if __name__ == "__main__":
    main()
