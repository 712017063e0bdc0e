# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""ibv_rc_pingpong with a relay (relay.cpp) on the wire between its two processes, which may change
a byte of the payload. The program's own check (-c) looks at the first byte of each page."""
import contextlib
import os
import re
import socket
import subprocess
import sys
import threading

import packets
from expectations import expect
from program_process import HERE, Process, as_user, free_port, listens

sys.path.insert(0, str(HERE.parents[0] / "qom"))
import capture_file  # noqa: E402
import wire  # noqa: E402

SIZE, COUNT, MTU, PAGE = 65536, 20, 1024, 4096
# The byte that is changed: the first one of this page, in this message of the client.
MESSAGE, CHANGED_PAGE = 7, 3
# What the two processes tell each other by TCP: LID, number of the queue pair, first PSN, GID.
ADDRESS = re.compile(rb"([0-9a-f]{4}):([0-9a-f]{6}):([0-9a-f]{6}):[0-9a-f]{32}\0")
ADDRESS_BYTES = 52


class Relay:
    """The program, and a thread that gives each process the relay's LID for the other's."""

    def __init__(self, program, folder, fabric, how, server_port):
        self.folder, self.server_port = folder, server_port
        self.process = subprocess.Popen(
            [*as_user(), program, fabric, how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
        line = self.process.stdout.readline()
        expect(line.startswith("lid "), f"the relay does not start: {line}")
        self.lid = int(line.split()[1])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.changed_psn = None
        self.thread = threading.Thread(target=self.introduce, daemon=True)
        self.thread.start()

    def translated(self, connection):
        """One address, with the relay's LID in it, and its LID and PSN."""
        text = connection.recv(ADDRESS_BYTES, socket.MSG_WAITALL)
        parts = ADDRESS.fullmatch(text)
        lid, psn = int(parts[1], 16), int(parts[3], 16)
        return f"{self.lid:04x}".encode() + text[4:], lid, psn

    def introduce(self):
        client, _ = self.listener.accept()
        with client, socket.create_connection(("127.0.0.1", self.server_port)) as server:
            address, client_lid, psn = self.translated(client)
            server.sendall(address)
            address, server_lid, _ = self.translated(server)
            first = psn + (MESSAGE * SIZE + CHANGED_PAGE * PAGE) // MTU
            self.changed_psn = first % (1 << 24)
            plan = f"{client_lid} {server_lid} {self.changed_psn} 0"
            print(plan, file=self.process.stdin, flush=True)
            self.process.stdout.readline()  # it is ready
            client.sendall(address)
            while rest := client.recv(100):
                server.sendall(rest)

    def finish(self):
        """What it has counted."""
        self.process.stdin.close()
        text = self.process.stdout.read()
        expect(self.process.wait() == 0, "the relay fails")
        return {name: int(number) for name, number in re.findall(r"^(\w+) (\d+)$", text, re.M)}

    def end(self):
        self.process.kill()
        self.process.wait()
        self.listener.close()


def changed_packets(end, psn):
    """The packets of sends with this PSN in the capture, as bytes."""
    for packet in capture_file.packets_of(str(end.capture), capture_file.INFINIBAND):
        transport = packet[packets.LRH : packets.LRH + packets.BTH]
        if transport[0] in packets.SEND and int.from_bytes(transport[9:12], "big") == psn:
            yield packet


def payload(packet):
    return packet[packets.LRH + packets.BTH : -packets.ICRC - 2]


def check(how, relay, counted, server, client):
    invalid = re.findall(r"invalid data in page (\d+)", server.output() + client.output())
    expected = [str(CHANGED_PAGE)] if how == "alter" else []
    expect(invalid == expected, f"{how}: the program finds invalid data in the pages {invalid}")
    sent = list(changed_packets(client, relay.changed_psn))
    came = list(changed_packets(server, relay.changed_psn))
    expect(sent and came, f"{how}: {len(sent)} packets with the PSN were sent, {len(came)} came")
    good = [packet for packet in came if wire.is_sealed(packet)]
    if how == "pass":
        expect(counted["altered"] == 0, "the relay has altered packets")
        expect(payload(good[0]) == payload(sent[0]), "the payload is another one")
    elif how == "alter":
        expect(counted["altered"] >= 1, "the relay has altered nothing")
        expect(len(good) == len(came), "a CRC of an altered packet is wrong")
        differing = [a != b for a, b in zip(payload(good[0]), payload(sent[0]))]
        expect(sum(differing) == 1 and differing[0], f"{sum(differing)} bytes were altered")
    else:
        expect(counted["altered"] == 1, "the relay has not damaged one packet")
        expect(len(came) - len(good) == 1, "not one packet has a wrong CRC")
        expect(len(sent) >= 2, "the damaged packet was not sent again")
        expect(payload(good[0]) == payload(sent[0]), "the payload is another one")


def run(case, launcher, folder):
    fabric = f"{case.name}-{os.getpid()}"
    program = os.path.join(os.path.dirname(launcher), "freehca_program_relay")
    expect(os.path.exists(program), "the target freehca_program_relay is not built")
    port = free_port()
    words = ["ibv_rc_pingpong", "-c", "-s", str(SIZE), "-n", str(COUNT), "-m", str(MTU)]
    with contextlib.ExitStack() as ends:
        server = Process(launcher, folder, fabric, "server", [*words, "-p", str(port)])
        ends.callback(server.end)
        listens(port, server)
        relay = Relay(program, folder, fabric, case.how, port)
        ends.callback(relay.end)
        client = Process(
            launcher, folder, fabric, "client", [*words, "-p", str(relay.port), "localhost"]
        )
        ends.callback(client.end)
        for end in (client, server):
            status = end.wait()
            expect(status == 0, f"the {end.path.name} ended with status {status}")
        check(case.how, relay, relay.finish(), server, client)
