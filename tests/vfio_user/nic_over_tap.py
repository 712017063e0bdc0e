#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""nic_over_tap.py FREEHCA_DEVICE HCACTL: two network namespaces, in each a TAP device that `hcactl
nic` joins to an adapter of its own. A wire joins the two adapters. Between the namespaces go echo
requests, 50 MB of TCP whose hash is compared, and frames with a VLAN tag: with 1500 and with 9000
bytes of MTU, with and without the offloads. The messages of hcactl are looked at too.

Ends with 77 if this machine has no TAP devices or no network namespaces."""
import hashlib
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
MEGABYTES = 50
PORT = 5201
EXPERIMENTAL = 0x88B5  # EtherType
ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA = 263, 8


# ---- What runs inside a namespace.


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ping(to, count, size):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as line:
        line.settimeout(10)
        for number in range(count):
            body = bytes((i * 7 + number) & 0xFF for i in range(size))
            head = struct.pack(">BBHHH", 8, 0, 0, os.getpid() & 0xFFFF, number)
            head = head[:2] + struct.pack(">H", checksum(head + body)) + head[4:]
            line.sendto(head + body, (to, 0))
            while True:
                answer = line.recv(65536)[20:]
                if answer[0] == 0 and answer[4:8] == head[4:8]:
                    break
            assert answer[8:] == body, f"echo {number} is not what was sent"


def content(megabytes):
    block = hashlib.sha512(b"freehca").digest() * 16384
    for number in range(megabytes):
        yield struct.pack(">I", number) + block[4:]


def serve():
    with socket.create_server(("0.0.0.0", PORT)) as door:
        print("serving", flush=True)
        line, _ = door.accept()
        line.settimeout(120)
        found = hashlib.sha256()
        with line:
            while part := line.recv(1 << 20):
                found.update(part)
        print(found.hexdigest(), flush=True)


def send(to, megabytes):
    found = hashlib.sha256()
    with socket.create_connection((to, PORT), timeout=120) as line:
        for block in content(megabytes):
            line.sendall(block)
            found.update(block)
    print(found.hexdigest(), flush=True)


def receive_tagged(device, vlan):
    """Waits for a frame with this VLAN. The kernel takes the tag out of the frame."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as line:
        line.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        line.bind((device, ETH_P_ALL))
        line.settimeout(20)
        print("listening", flush=True)
        while True:
            data, more, _, _ = line.recvmsg(65536, 256)
            tags = [struct.unpack("=IIIHHHH", d[:20])[5] for _, t, d in more if t == PACKET_AUXDATA]
            if data[12:14] == struct.pack(">H", EXPERIMENTAL) and tags[0] & 0xFFF == vlan:
                assert tags[0] >> 13 == 3, tags
                print(hashlib.sha256(data[14:]).hexdigest(), flush=True)
                return


def send_tagged(device, vlan, size):
    body = bytes(i * 5 & 0xFF for i in range(size))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as line:
        line.bind((device, 0))
        own = line.getsockname()[4]
        tag = struct.pack(">HH", 0x8100, 3 << 13 | vlan)
        line.send(b"\xff" * 6 + own + tag + struct.pack(">H", EXPERIMENTAL) + body)
    print(hashlib.sha256(body).hexdigest(), flush=True)


# ---- What sets it up.


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


class Host:
    """A namespace, an adapter, and a TAP device on it."""

    def __init__(self, number, device, hcactl, folder, wire, mac):
        self.number, self.hcactl = number, hcactl
        self.name = f"freehca-nic-{os.getpid()}-{number}"
        self.socket = f"{folder}/hca{number}"
        self.address = f"10.97.0.{number + 1}"
        self.tap = f"hca{number}"
        made = run("ip", "netns", "add", self.name)
        if made.returncode != 0:
            print(f"SKIPPED: no network namespaces here: {made.stderr.strip()}")
            sys.exit(SKIPPED)
        self.server = subprocess.Popen(
            [
                device,
                "--socket",
                self.socket,
                "--link1",
                "eth",
                "--link2",
                "vpi-ib",
                "--port1",
                wire,
                "--mac",
                mac,
            ]
            + ["--strict", "on"],
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.server.stderr.readline()
        assert line.startswith("freehca-device: ready: "), line
        self.nic = None

    def inside(self, *words):
        return ["ip", "netns", "exec", self.name, *words]

    def python(self, *words):
        return subprocess.Popen(
            self.inside(sys.executable, "-B", __file__, *words),
            stdout=subprocess.PIPE,
            text=True,
        )

    def tool(self, *options):
        return self.inside(self.hcactl, "--vfio-user", self.socket, "nic", *options)

    def up(self, *options):
        self.nic = subprocess.Popen(
            self.tool("--tap", self.tap, *options),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = [self.nic.stdout.readline() for _ in range(2)]
        assert said[1].startswith("until "), said + [self.nic.stdout.read()]
        for words in (
            f"address add {self.address}/24 dev {self.tap}",
            f"link set {self.tap} up",
        ):
            done = run("ip", "-n", self.name, *words.split())
            assert done.returncode == 0, done.stderr

    def wait_for_carrier(self):
        for _ in range(300):
            if run(*self.inside("cat", f"/sys/class/net/{self.tap}/carrier")).stdout == "1\n":
                return
            time.sleep(0.1)
        raise AssertionError(f"{self.tap} has no carrier")

    def down(self):
        self.nic.send_signal(signal.SIGTERM)
        said = self.nic.communicate(timeout=60)[0]
        assert self.nic.returncode == 0, said
        self.nic = None
        return said

    def end(self):
        for process in (self.nic, self.server):
            if process is not None and process.poll() is None:
                process.terminate()
        said = self.server.communicate(timeout=30)[1]
        run("ip", "netns", "delete", self.name)
        return said


def answer_of(process):
    said = process.communicate(timeout=300)[0]
    assert process.returncode == 0, said
    return said.split()[-1] if said.split() else ""


def exchange(a, b, mtu, options):
    for host in (a, b):
        host.up("--mtu", str(mtu), *options)
    for host in (a, b):
        host.wait_for_carrier()
    answer_of(a.python("ping", b.address, "20", str(mtu - 28)))
    began = time.monotonic()
    server = b.python("serve")
    assert server.stdout.readline() == "serving\n"
    sent = answer_of(a.python("send", b.address, str(MEGABYTES)))
    assert answer_of(server) == sent, "the bytes of TCP differ"
    took = time.monotonic() - began
    listener = b.python("receive_tagged", b.tap, "5")
    assert listener.stdout.readline() == "listening\n"
    sent = answer_of(a.python("send_tagged", a.tap, "5", str(mtu - 100)))
    assert answer_of(listener) == sent, "the tagged frame differs"
    reports = [host.down() for host in (a, b)]
    print(
        f"MTU {mtu} {' '.join(options)}: 20 echoes, {MEGABYTES} MB in {took:.1f} s, a tagged frame"
    )
    for report in reports:
        print("  " + report.strip().replace("\n", "\n  "))


def refuse(host):
    """Each obstacle has its exit code, and a message with the remedy."""

    def refused(code, words, *options):
        done = run(*host.tool(*options))
        text = done.stdout + done.stderr
        assert done.returncode == code and words in text, (done.returncode, text)

    run("ip", "-n", host.name, "tuntap", "add", "dev", "other", "mode", "tun")
    refused(18, "remove it: ip link delete other", "--tap", "other")
    refused(25, "is no name of a network device", "--tap", "much-too-long-a-name")
    refused(24, "--ethernet makes a VPI port", "--tap", "hca9", "--port", "2")
    done = run(*host.tool("--tap", "hca9", "--port", "2", "--ethernet", "--for", "1"))
    assert done.returncode == 0, done.stdout + done.stderr
    for wrong in (["--mtu", "67"], ["--mtu", "9601"], ["--rings", "3"], ["--for", "0"]):
        assert run(*host.tool("--tap", "hca9", *wrong)).returncode > 100, wrong
    assert run(*host.tool()).returncode > 100


def main():
    if not pathlib.Path("/dev/net/tun").exists() or shutil.which("ip") is None:
        print("SKIPPED: no /dev/net/tun, or no ip of iproute2")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        hosts = []
        try:
            for number, way in enumerate(("listen", "connect")):
                wire = f"stream:{way}={folder}/cable"
                hosts.append(
                    Host(number, *sys.argv[1:3], folder, wire, f"02:00:00:00:00:1{number}")
                )
            a, b = hosts
            refuse(a)
            exchange(a, b, 1500, [])
            exchange(b, a, 9000, ["--rings", "4"])
            exchange(a, b, 1500, ["--no-offload", "--promiscuous"])
        finally:
            said = [host.end() for host in hosts]
        for text in said:
            assert "complaint" not in text, text


INSIDE = {
    "ping": lambda to, count, size: ping(to, int(count), int(size)),
    "serve": serve,
    "send": lambda to, megabytes: send(to, int(megabytes)),
    "receive_tagged": lambda device, vlan: receive_tagged(device, int(vlan)),
    "send_tagged": lambda device, vlan, size: send_tagged(device, int(vlan), int(size)),
}
if sys.argv[1] in INSIDE:
    INSIDE[sys.argv[1]](*sys.argv[2:])
else:
    main()
