#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""seeded_writes.py -s SIZE -n COUNT -p PORT [HOST]: a program of pyverbs. The client (with HOST)
writes COUNT messages of SIZE bytes into the server's memory, one behind the other, by RDMA. The
bytes are drawn from a seed, which the client prints. The server writes its memory's first address
to the file `address`, and what lies there at the end to `target`."""
import argparse
import json
import pathlib
import random
import socket

import pyverbs.enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

PORT = 1  # of the adapter
FIRST_PSN = 0xFFFFF0  # so that the numbers wrap around


class End:
    def __init__(self, size):
        self.context = Context(name="freehca0")
        self.domain = PD(self.context)
        access = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
        self.memory = MR(self.domain, size, access)
        self.completions = CQ(self.context, 16)
        cap = QPCap(max_send_wr=16, max_recv_wr=1, max_send_sge=1, max_recv_sge=1)
        how = QPInitAttr(
            qp_type=e.IBV_QPT_RC, scq=self.completions, rcq=self.completions, cap=cap, sq_sig_all=1
        )
        access = QPAttr(port_num=PORT)
        access.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
        self.pair = QP(self.domain, how, access)

    def own(self):
        lid = self.context.query_port(PORT).lid
        return {
            "lid": lid,
            "qp": self.pair.qp_num,
            "address": self.memory.buf,
            "key": self.memory.rkey,
        }

    def connect(self, other):
        to = QPAttr(port_num=PORT, path_mtu=e.IBV_MTU_2048)
        to.dest_qp_num = other["qp"]
        to.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
        to.rq_psn = to.sq_psn = FIRST_PSN
        to.max_rd_atomic = to.max_dest_rd_atomic = 1
        to.min_rnr_timer, to.timeout, to.retry_cnt, to.rnr_retry = 12, 14, 7, 7
        to.ah_attr = AHAttr(dlid=other["lid"], port_num=PORT)
        self.pair.to_rts(to)

    def write(self, place, size, other):
        piece = SGE(self.memory.buf + place, size, self.memory.lkey)
        request = SendWR(num_sge=1, sg=[piece], opcode=e.IBV_WR_RDMA_WRITE)
        request.set_wr_rdma(other["key"], other["address"] + place)
        self.pair.post_send(request)
        count = 0
        while not count:
            count, ended = self.completions.poll()
        if ended[0].status != e.IBV_WC_SUCCESS:
            raise SystemExit(f"a write ends with status {ended[0].status}")


def serve(options):
    end = End(options.size * options.count)
    with socket.create_server(("127.0.0.1", options.port)) as listener:
        line, _ = listener.accept()
        with line, line.makefile("rw", encoding="ascii") as file:
            other = json.loads(file.readline())
            end.connect(other)
            pathlib.Path("address").write_text(str(end.memory.buf), encoding="ascii")
            print(json.dumps(end.own()), file=file, flush=True)
            file.readline()  # all is written
            whole = end.memory.read(options.size * options.count, 0)
            pathlib.Path("target").write_bytes(whole)
            print("read", file=file, flush=True)


def write(options):
    seed = random.getrandbits(32)
    print("seed", seed, flush=True)
    whole = random.Random(seed).randbytes(options.size * options.count)
    end = End(len(whole))
    end.memory.write(whole, len(whole))
    with socket.create_connection((options.host, options.port)) as line:
        with line.makefile("rw", encoding="ascii") as file:
            print(json.dumps(end.own()), file=file, flush=True)
            other = json.loads(file.readline())
            end.connect(other)
            for i in range(options.count):
                end.write(i * options.size, options.size, other)
            print("written", file=file, flush=True)
            file.readline()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-s", dest="size", type=int, required=True)
    parser.add_argument("-n", dest="count", type=int, required=True)
    parser.add_argument("-p", dest="port", type=int, required=True)
    parser.add_argument("host", nargs="?")
    options = parser.parse_args()
    (write if options.host else serve)(options)


main()
