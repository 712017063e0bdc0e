# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The image `web`: pages from a machine without an operating system. The client is on the host, and
QEMU's user network is what the image has at the other end of its wire. Each kind of machine inherits
these cases: bare_test.py makes the classes."""
import hashlib
import http.client
import re
import socket
import struct
import tempfile

import cases
import machines

PAGE_BYTES = 1 << 20
PAGE = bytes((i * 7 + (i >> 8) * 13 + (i >> 16) * 29) & 0xFF for i in range(PAGE_BYTES))
PAGE_SHA256 = hashlib.sha256(PAGE).hexdigest()
FETCHES = 10
# A fetch takes seconds. On a machine with many other tests it has taken a minute.
LIMIT_SECONDS = 200
# Sixty million instructions a second, which a host emulates in less than a second. The image ends a
# connection that is idle for 30 s: with a larger shift that is less time than a busy client takes.
SERVING = 4


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Serving(cases.Cases):
    def serve(self, *properties, words=""):
        """Boots the image with a client on the host, and returns when it serves."""
        self.host_port = free_port()
        adapter = machines.ethernet_adapter(self.host_port, *properties)
        self.start(adapter, words, icount_shift=SERVING)

    def start(self, adapter, words="", **more):
        file = machines.image_file(self.kind.architecture, "web")
        self.last = machines.Run(self.kind, self.qemu, file, adapter, words, **more)
        self.last.start(typed=True)
        self.addCleanup(self.last.finish)
        self.until("^serving ")

    def until(self, pattern):
        while (line := self.last.line()) is not None:
            if found := re.search(pattern, line):
                return found
        self.fail(f"no line like {pattern!r}:\n" + "\n".join(self.last.lines))

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.host_port, timeout=LIMIT_SECONDS)

    def fetch(self, path, method="GET"):
        """Status and content."""
        connection = self.connection()
        connection.request(method, path)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def fetch_page(self):
        status, content = self.fetch("/page")
        self.assertEqual(status, 200)
        self.assertEqual(len(content), PAGE_BYTES)
        self.assertEqual(hashlib.sha256(content).hexdigest(), PAGE_SHA256)

    def end(self):
        """Ends the image, which must have found nothing wrong."""
        self.last.say("end")
        while self.last.line() is not None:
            pass
        self.last.finish()
        self.said("^frames ", "^server ", "^down +ok$", cases.QUIET, "^image +", "^web: passed$")
        # The model complains of what a real card would have to suffer silently.
        self.assertEqual(self.last.errors, "")
        self.assertTrue(self.last.passed, self.last.status)
        print("  " + self.said("^image .*").string, end=" ")

    def test_web(self):
        """The page, ten times; then what a browser and a careless client may ask."""
        self.serve()
        for _ in range(FETCHES):
            self.fetch_page()
        status, text = self.fetch("/")
        self.assertEqual(status, 200)
        self.assertRegex(
            text.decode(),
            r"^freehca web on \w+, lwIP 2\.1\.3\nfirmware 2\.42\.5700, board MT_1090120019\n"
            r"MAC 00:02:c9:[0-9a-f:]{8}, address 10\.0\.2\.15\n"
            r"frames \d+ received, \d+ sent, 0 with wrong checksums\nanswers 10\n",
        )
        self.assertEqual(self.fetch("/page", "HEAD"), (200, b""))
        self.assertEqual(self.fetch("/nothing"), (404, b"404 Not Found\n"))
        self.assertEqual(self.fetch("/" + "x" * 4000), (404, b"404 Not Found\n"))
        self.assertEqual(self.fetch("/", "POST"), (501, b"501 Not Implemented\n"))
        self.end()
        self.said(r"^frames .* 0 with wrong checksums, 0 copied, .* 0 and 0 errors$")
        sent = FETCHES * PAGE_BYTES
        self.said(f"^server +15 connections, 15 answers, 3 of them errors, 0 broken, {sent} bytes")

    def test_web_over_a_wire_that_loses_frames(self):
        """Of the frames that the adapter sends, one of a hundred is lost."""
        self.serve("x-fault-link1=loss:10000:seed:7")
        for _ in range(2):
            self.fetch_page()
        lost = self.last.get("counter-port1_fault_lost")
        self.assertGreater(lost, 3)
        self.end()


def checksum(data):
    """Of IPv4 and ICMP (RFC 1071)."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Frames:
    """The other end of the wire, which sends and receives whole frames."""

    OWN_MAC = bytes.fromhex("525400000702")
    OWN_ADDRESS, ITS_ADDRESS = bytes((10, 0, 2, 2)), bytes((10, 0, 2, 15))

    def __init__(self, folder):
        self.path, self.peer_path = f"{folder}/host", f"{folder}/machine"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(LIMIT_SECONDS)
        self.its_mac = b"\xff" * 6

    def adapter(self):
        wire = (
            f"dgram,id=wire,local.type=unix,local.path={self.peer_path},"
            f"remote.type=unix,remote.path={self.path}"
        )
        return "-netdev", wire, "-device", "mlx4,id=hca0,link1=eth,netdev1=wire"

    def send(self, ether_type, payload):
        frame = self.its_mac + self.OWN_MAC + struct.pack(">H", ether_type) + payload
        self.socket.sendto(frame, self.peer_path)

    def find_mac(self):
        """By ARP; the answer too, which names both ends again. The machine announces itself when its
        link is up, and hears nothing before."""
        self.next(0x0806, lambda p: p[14:18] == self.ITS_ADDRESS)
        question = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1)
        self.send(0x0806, question + self.OWN_MAC + self.OWN_ADDRESS + bytes(6) + self.ITS_ADDRESS)
        answer = self.next(0x0806, lambda p: p[6:8] == b"\0\2")
        self.its_mac = answer[8:14]
        return answer[14:18] + answer[18:24] + answer[24:28]

    def ping(self, number, data, wrong=0):
        """`wrong`: added to the checksum of the IPv4 header."""
        echo = struct.pack(">BBHHH", 8, 0, 0, 7, number) + data
        echo = echo[:2] + struct.pack(">H", checksum(echo)) + echo[4:]
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(echo), number, 0, 64, 1, 0)
        ip += self.OWN_ADDRESS + self.ITS_ADDRESS
        ip = ip[:10] + struct.pack(">H", checksum(ip) ^ wrong) + ip[12:]
        self.send(0x0800, ip + echo)

    def next(self, ether_type, which):
        """The content of the next frame of the type that is one of these."""
        while True:
            frame = self.socket.recv(2000)
            if frame[12:14] == struct.pack(">H", ether_type) and which(frame[14:]):
                return frame[14:]


class Unusual(Serving):
    """On one machine of each architecture."""

    def test_web_answers_pings(self):
        """By whole frames: ARP, ICMP, and what it does with a wrong checksum."""
        with tempfile.TemporaryDirectory(prefix="freehca-bare-") as folder:
            host = Frames(folder)
            self.addCleanup(host.socket.close)
            self.start(host.adapter())
            ends = Frames.ITS_ADDRESS + Frames.OWN_MAC + Frames.OWN_ADDRESS
            self.assertEqual(host.find_mac(), ends)
            host.ping(1, b"never answered", wrong=1)
            for number, size in enumerate((0, 2, 56, 1472), 2):
                data = bytes(i % 251 for i in range(size))
                host.ping(number, data)
                answer = host.next(0x0800, lambda p: p[9] == 1)
                length = struct.unpack(">H", answer[2:4])[0]
                self.assertEqual(checksum(answer[:20]), 0)
                self.assertEqual(checksum(answer[20:length]), 0)
                self.assertEqual(
                    answer[20:length][:2] + answer[24:length],
                    struct.pack(">BBHH", 0, 0, 7, number) + data,
                )
            self.end()
            self.said("^frames .* 1 with wrong checksums, ")

    def test_web_of_many_clients_at_once(self):
        self.serve()
        clients = [self.connection() for _ in range(12)]
        for client in clients:
            client.request("GET", "/page")
        for client in clients:
            content = client.getresponse().read()
            self.assertEqual(hashlib.sha256(content).hexdigest(), PAGE_SHA256)
            client.close()
        self.end()

    def test_web_of_clients_that_go_away(self):
        self.serve()
        for request in (b"", b"GET /pa", b"\r\n\r\n", b"GET /page HTTP/1.0\r\n\r\n"):
            for _ in range(8):
                with socket.create_connection(("127.0.0.1", self.host_port)) as client:
                    client.sendall(request)
        self.fetch_page()
        self.end()

    def test_web_when_the_cable_is_pulled(self):
        self.serve()
        self.fetch_page()
        for up in (False, True):
            self.last.monitor("set_link", name="hca0.1", up=up)
        self.fetch_page()
        self.end()

    def test_web_at_another_address(self):
        """An address that the user network sends nothing to: nobody connects, and it still ends."""
        self.serve(words="address=10.0.2.99 mask=255.255.0.0 gateway=10.0.2.2")
        self.said("^serving +http://10.0.2.99/")
        self.end()

    def test_web_without_an_ethernet_port(self):
        self.boot("web")
        self.said("^FAILED +at looking for an Ethernet port", "^remedy .*link1=eth", cases.QUIET)
        self.assertFalse(self.last.passed)

    def test_web_refuses_an_address_that_is_none(self):
        self.boot("web", *machines.ethernet_adapter(free_port()), words="address=10.0.2.256")
        self.said("^FAILED +at reading the command line: an address is wrong", cases.QUIET)
        self.assertFalse(self.last.passed)
