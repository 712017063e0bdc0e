# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""InfiniBand as bytes on a cable, put together and taken apart with nothing of the model's: CRCs by
zlib and by a bitwise register (IBTA vol. 1, 7.8), link packets, directed-route management
datagrams, and the length-prefixed stream of QEMU's socket backends."""
import socket
import struct
import time
import zlib

FLOW_CONTROL, FLOW_CONTROL_INIT, TRAINING_1, TRAINING_2, NO_SIGNAL = 0, 1, 0xD, 0xE, 0xF
LINK_PACKET_BYTES = 6
PERMISSIVE = 0xFFFF
GET, GET_RESPONSE, NODE_INFO = 0x01, 0x81, 0x0011


def shifted_out(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0xD008 if byte & 1 else 0)
    return byte


VCRC_OF_BYTE = [shifted_out(byte) for byte in range(256)]


def vcrc(data):
    crc = 0xFFFF
    for byte in data:
        crc = crc >> 8 ^ VCRC_OF_BYTE[(crc ^ byte) & 0xFF]
    return struct.pack("<H", crc ^ 0xFFFF)


def icrc(packet):
    """Of a packet from the LRH to its padding."""
    masked = bytearray(packet)
    if packet[1] & 3 == 3:
        masked[0:8] = b"\xff" * 8
        masked[8] |= 0x0F
        masked[9:12] = b"\xff" * 3
        masked[15] = 0xFF
        masked[52] = 0xFF
    else:
        masked[0] |= 0xF0
        masked[12] = 0xFF
    return struct.pack("<I", zlib.crc32(bytes(masked)))


def sealed(packet):
    whole = packet + icrc(packet)
    return whole + vcrc(whole)


def is_sealed(data):
    return data[-2:] == vcrc(data[:-2]) and data[-6:-2] == icrc(data[:-6])


def link_packet(op, lane=0, sent=0, limit=2048):
    head = struct.pack(">HH", op << 12 | sent, lane << 12 | limit)
    return head + vcrc(head)


def directed_request(attribute, transaction):
    """A Get by a route of one hop, as the node at the other end of the link receives it."""
    mad = bytearray(256)
    mad[0:4] = bytes((1, 0x81, 1, GET))
    mad[6:8] = bytes((1, 1))  # hop pointer and count
    mad[8:16] = transaction.to_bytes(8, "big")
    mad[16:18] = attribute.to_bytes(2, "big")
    mad[32:36] = b"\xff" * 4
    lrh = struct.pack(">BBHHH", 0xF0, 0x02, PERMISSIVE, 72, PERMISSIVE)
    bth = struct.pack(">BBHII", 0x64, 0, 0xFFFF, 0, 0)
    return sealed(lrh + bth + bytes(8) + bytes(mad))


class Peer:
    """The other end of a stream netdev that listens at `path`; or of one that has connected to this
    `listener`."""

    def __init__(self, path=None, listener=None):
        if listener:
            self.socket, _ = listener.accept()
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(30)
            self.socket.connect(path)
        self.rest, self.packets, self.ops = b"", [], []

    def send(self, data, seconds=30):
        self.socket.settimeout(seconds)
        self.socket.sendall(struct.pack(">I", len(data)) + data)

    def receive(self, seconds):
        """Takes what comes: packets go to `packets`, ops of link packets to `ops`. False: nothing
        came."""
        self.socket.settimeout(seconds)
        try:
            more = self.socket.recv(1 << 20)
        except (TimeoutError, BlockingIOError):
            return False
        if not more:
            raise ConnectionError("QEMU closed the cable")
        self.rest += more
        while len(self.rest) >= 4:
            length = int.from_bytes(self.rest[:4], "big")
            if len(self.rest) < 4 + length:
                break
            data, self.rest = self.rest[4 : 4 + length], self.rest[4 + length :]
            if length != LINK_PACKET_BYTES:
                self.packets.append(data)
            elif data[4:] == vcrc(data[:4]):
                self.ops.append(data[0] >> 4)
            else:
                raise ValueError(f"a bad link packet: {data.hex()}")
        return True

    def close(self):
        self.socket.close()

    def train(self, machine):
        """Brings the link up with a port that has been opened."""

        def said(op):
            while self.receive(0.01):
                pass
            return op in self.ops

        until(lambda: said(TRAINING_1), machine)
        self.send(link_packet(TRAINING_1))
        until(lambda: said(TRAINING_2), machine)
        self.send(link_packet(TRAINING_2))
        until(lambda: said(FLOW_CONTROL_INIT), machine)


def until(condition, *machines, step=20_000_000, seconds=60):
    """Lets the machines' clocks run until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("it did not come to that")
        for machine in machines:
            machine.step_clock(step)
        time.sleep(0.001)
