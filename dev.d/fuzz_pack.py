#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""fuzz_pack.py pack CORPUS FOLDER | unpack CORPUS FOLDER | count CORPUS: the inputs of a fuzzer as
one file, and as the folder of files that libFuzzer reads.

A corpus is the line "freehca corpus 1", then for each input its length in four bytes, the most
significant one first, and its bytes. Inputs are sorted, so that equal folders give equal files.
"""
import hashlib
import pathlib
import struct
import sys

HEAD = b"freehca corpus 1\n"


def pack(inputs):
    return HEAD + b"".join(struct.pack(">I", len(i)) + i for i in sorted(set(inputs)))


def unpack(data):
    if not data.startswith(HEAD):
        raise ValueError("it is no corpus")
    inputs, at = [], len(HEAD)
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        at += 4
        if at > len(data) or at + length > len(data):
            raise ValueError(f"it ends within input {len(inputs)}")
        inputs.append(data[at : at + length])
        at += length
    return inputs


def main():
    what, corpus = sys.argv[1], pathlib.Path(sys.argv[2])
    if what == "pack":
        files = [f for f in pathlib.Path(sys.argv[3]).iterdir() if f.is_file()]
        corpus.write_bytes(pack(f.read_bytes() for f in files))
    elif what == "unpack":
        folder = pathlib.Path(sys.argv[3])
        folder.mkdir(parents=True, exist_ok=True)
        for data in unpack(corpus.read_bytes()):
            # As libFuzzer names them, so that an input that it knows is not there twice.
            (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
    elif what == "count":
        print(len(unpack(corpus.read_bytes())))
    else:
        sys.exit(__doc__)


main()
