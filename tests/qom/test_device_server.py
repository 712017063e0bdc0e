# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""freehca-device beside QEMU's device: both are the same function, and can be two ends of one
cable. The program is asked by a client of vfio-user that is written here."""
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import unittest

import wire
from machine import Machine
from test_links import Adapter

BUILD = os.path.join(os.path.dirname(__file__), "..", "..", "build", "host")
DEVICE = os.path.join(BUILD, "vfio_user", "freehca-device")
HCACTL = os.path.join(BUILD, "vfio_host", "hcactl")
VERSION, REGION_READ, REGION_WRITE, CONFIGURATION = 1, 9, 10, 7
GUID = "0002:c903:00f0:ca00"
# The gateway's data are a register; what QEMU has outside capabilities can be written like memory.
GATEWAY_ADDRESS, GATEWAY_DATA = 0x58, 0x5C
WRITTEN = (
    *(0x04, 0x0C, 0x10, 0x14, 0x18, 0x1C, 0x20, 0x24, 0x2C, 0x30, 0x3C),
    *(0x40, 0x48, 0x4C, 0x58, 0x60, 0x64, 0x6C, 0x70, 0x84, 0x88, 0x8C, 0x90, 0x9C, 0xA0, 0xA4),
    *(0x100, 0x104, 0x148, 0x14C, 0x150),
)
WRITTEN_GEN3 = (0xC0, *range(0x154, 0x174, 4), 0x18C, 0x190, 0x194)


class Server:
    """with Server(FOLDER, "--port1", ...) as server: ..."""

    def __init__(self, folder, *arguments):
        self.path = os.path.join(folder, "device")
        self.process = subprocess.Popen(
            [DEVICE, "--socket", self.path, "--guid", GUID, *arguments],
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stderr.readline()
        if not line.startswith("freehca-device: ready: "):
            raise AssertionError(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        rest = self.process.communicate(timeout=30)[1]
        if self.process.returncode or "complaint" in rest:
            raise AssertionError(rest)


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.ask(VERSION, struct.pack("<HH", 0, 0))

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ConnectionError("the server has gone")
            data += more
        return data

    def ask(self, command, body):
        self.socket.sendall(struct.pack("<HHIII", 7, command, 16 + len(body), 0, 0) + body)
        _, _, size, flags, error = struct.unpack("<HHIII", self.exactly(16))
        reply = self.exactly(size - 16)
        if flags & 0x20:
            raise OSError(error, os.strerror(error))
        return reply

    def read(self, offset, size=4):
        reply = self.ask(REGION_READ, struct.pack("<QII", offset, CONFIGURATION, size))
        return int.from_bytes(reply[16:], "little")

    def write(self, offset, value, size=4):
        head = struct.pack("<QII", offset, CONFIGURATION, size)
        self.ask(REGION_WRITE, head + value.to_bytes(size, "little"))

    def close(self):
        self.socket.close()


class DeviceServer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="freehca-server-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_configuration_space_is_that_of_the_device(self):
        for variant in ("connectx3-pro", "connectx3", "connectx2"):
            for ports, flr in ((2, "on"), (1, "off")):
                with self.subTest(variant, ports=ports):
                    self.compare(variant, ports, flr)

    def compare(self, variant, ports, flr):
        options = {"variant": variant, "ports": ports, "flr": flr}
        device = "mlx4," + ",".join(f"{k}={v}" for k, v in options.items())
        program = [word for k, v in options.items() for word in (f"--{k}", str(v))]
        with Machine("-device", f"{device},guid={GUID}") as machine, Server(
            self.folder, *program
        ) as server:
            function = machine.function().open_window()
            client = Client(server.path)
            self.addCleanup(client.close)
            for offset in range(0, 4096, 4):
                if offset != GATEWAY_DATA:
                    self.assertEqual(function.extended(offset), client.read(offset), hex(offset))
            more = () if variant == "connectx2" else WRITTEN_GEN3
            for offset in (*WRITTEN, *more):
                for value in (0xFFFFFFFF, 0x00000000):
                    # D3hot and D0 again would be a reset of the older card.
                    value = value & ~3 if offset == 0x44 else value
                    function.write_extended(offset, value)
                    client.write(offset, value)
                    self.assertEqual(function.extended(offset), client.read(offset), hex(offset))
            # All of the product data, by both.
            for address in range(0, 4096, 4):
                for one in (function, client):
                    one.write(0x4A, address, 2)
                self.assertEqual(function.read(0x4C), client.read(0x4C), hex(address))
            client.close()

    def test_a_server_and_a_device_are_one_link(self):
        path = os.path.join(self.folder, "wire")
        with Server(self.folder, "--port1", f"stream:listen={path}") as server, Machine(
            "-netdev",
            f"stream,id=wire,server=off,addr.type=unix,addr.path={path}",
            "-device",
            "mlx4,id=hca0,netdev1=wire,guid=0x0002c90300f0cb00",
        ) as machine:
            adapter = Adapter(machine)
            adapter.open()
            self.assertFalse(adapter.up())
            driver = subprocess.Popen(
                [HCACTL, "--vfio-user", server.path, "up", "--hold"],
                stdout=subprocess.PIPE,
                text=True,
            )
            self.addCleanup(driver.stdout.close)
            while not re.match("held", driver.stdout.readline() or "held"):
                pass
            self.assertIsNone(driver.poll())
            wire.until(adapter.up, machine)
            driver.send_signal(signal.SIGTERM)
            self.assertEqual(0, driver.wait(30))
            wire.until(lambda: not adapter.up(), machine, step=1_000_000)
            self.assertEqual(0, machine.get("counter-port1_bad_link_packets"))
            self.assertEqual(0, machine.get("counter-complaints"))
