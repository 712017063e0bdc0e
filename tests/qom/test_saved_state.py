# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""A machine whose state is saved and loaded in another process: what goes on, and what is refused."""
import os
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import machine as machines
import wire
from firmware import MSIX_TABLE, NOP, Firmware
from machine import Machine, QemuRefused
from test_links import Adapter, FrameSender
from test_vpd import FLAG, read_vpd

VPD_ADDRESS, VPD_DATA = 0x4A, 0x4C
MESSAGE, DATA = 0x300000, 0xFEE1
TYPE, RARP = b"\x88\xb5", b"\x80\x35"
MARK = b"freehca state\n"


def save(machine, path):
    """Stops the machine and writes its state to a file. RuntimeError: with QEMU's message."""
    machine.qmp("stop")
    machine.qmp("migrate", uri=f"exec:cat >{path}")
    while (status := machine.qmp("query-migrate")["status"]) not in ("completed", "failed"):
        time.sleep(0.01)
    if status != "completed":
        raise RuntimeError(status)


def go_on(machine):
    """The saved machine was stopped, so the new one is too when it has loaded everything."""
    while machine.qmp("query-status")["status"] != "paused":
        time.sleep(0.01)
    machine.qmp("cont")
    return machine


class SavedState(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="freehca-qom-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "state")

    def start(self, *arguments):
        machine = Machine(*arguments).__enter__()
        self.addCleanup(machine.__exit__)
        return machine

    def load(self, *arguments):
        return go_on(self.start(*arguments, "-incoming", f"exec:cat {self.path}"))

    def refusal(self, *arguments, path=None):
        """What QEMU says when it cannot load the state. It ends by itself."""
        run = subprocess.run(
            [
                machines.BINARY,
                *machines.BASE,
                *machines.FIRMWARE,
                *("-accel", "qtest", "-incoming", f"exec:cat {path or self.path}", *arguments),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        self.assertNotEqual(0, run.returncode)
        return run.stdout.decode()

    def test_what_the_guest_sees_is_the_same_and_goes_on(self):
        device = ("-device", "mlx4,id=hca0,link2=eth")
        source = self.start(*device)
        adapter = Adapter(source)
        adapter.open(1)
        adapter.open(2)
        adapter.firmware.aim(adapter.function, MESSAGE, DATA)
        adapter.function.open_window()
        writable = read_vpd(adapter.function).index(b"V1\x06N/A") + 3
        writable -= writable % 4
        adapter.function.write(VPD_DATA, 0x31323334)
        adapter.function.write(VPD_ADDRESS, writable | FLAG, 2)
        source.set("x-fault-command-latency", 5000)
        source.set("x-rules-off", "reserved-bits")

        def seen(machine):
            function = machine.function()
            return {
                "VPD": read_vpd(function),
                "configuration space": [function.extended(at) for at in range(0, 4096, 4)],
                "MSI-X": [machine.read(0xE0000000 + MSIX_TABLE + at) for at in range(0, 128, 4)],
                "latency": machine.get("x-fault-command-latency"),
                "rules": machine.get("x-rules-off"),
                "counters": machine.get("counters"),
                "digest": machine.get("state-digest"),
            }

        ports = [adapter.up(1), adapter.up(2)]
        before = seen(source)
        save(source, self.path)
        source.__exit__()
        adapter.machine = adapter.firmware.machine = self.load(*device)
        self.assertEqual(before, seen(adapter.machine))
        self.assertEqual(ports, [adapter.up(1), adapter.up(2)])
        self.assertIn(b"4321", before["VPD"])

        # The event queue goes on behind the events of before, and its interrupt arrives.
        adapter.machine.write(MESSAGE, 0)
        index = next(i for i in range(64) if adapter.firmware.event(i) is None)
        adapter.firmware.post(NOP, token=7, event=True)
        adapter.machine.step_clock(1000000)
        self.assertIsNotNone(adapter.firmware.event(index))

    def test_a_state_of_another_adapter(self):
        with Machine("-device", "mlx4,id=hca0,guid=0x0002c90300f0cb00") as source:
            save(source, self.path)
        for given, expected in (
            ("", "guid is 0x2c90300f0cb00 in the state, and guid is 0x2c90300f0ca00"),
            ("guid=0x0002c90300f0cb00,mac=00:02:c9:00:00:01", "mac is 0x2c9f0cb01 in the state"),
            ("guid=0x0002c90300f0cb00,variant=connectx3", "variant is 0x0 in the state"),
            ("guid=0x0002c90300f0cb00,ports=1", "ports is 0x2 in the state, and ports is 0x1"),
            ("guid=0x0002c90300f0cb00,link2=eth", "link2 is 0x0 in the state, and link2 is 0x1"),
            ("guid=0x0002c90300f0cb00,sm=off", "sm is 0x1 in the state, and sm is 0x0"),
            ("guid=0x0002c90300f0cb00,bar2-size=16M", "bar2-size is 0x800000 in the state"),
        ):
            with self.subTest(given):
                said = self.refusal("-device", f"mlx4,id=hca0,{given}".rstrip(","))
                self.assertIn("mlx4: the saved state is refused: ", said)
                self.assertIn(expected, said)

    def test_a_damaged_state(self):
        device = ("-device", "mlx4,id=hca0")
        with Machine(*device) as source:
            Adapter(source)
            save(source, self.path)
        with open(self.path, "rb") as file:
            state = file.read()
        self.assertEqual(1, state.count(MARK))
        version = state.index(MARK) + len(MARK)
        section = state.index(b"command register", version)
        for name, changed, expected in (
            ("newer", state[:version] + b"\x7f" + state[version + 1 :], "version 127"),
            ("changed", state[: section + 64] + b"\xa5\x5a\xa5" + state[section + 67 :], "command"),
            ("cut", state[:section], "cut off"),
        ):
            with self.subTest(name):
                path = self.path + name
                with open(path, "wb") as file:
                    file.write(changed)
                said = self.refusal(*device, path=path)
                self.assertIn("mlx4: the saved state ", said)
                self.assertIn(expected, said)

    def test_a_fault_that_counts_is_not_saved(self):
        with Machine("-device", "mlx4,id=hca0") as source:
            for name, fault in (
                ("x-fault-command", "QUERY_FW:0x0b:2"),
                ("x-fault-event", "any:lost"),
            ):
                source.set(name, fault)
                with self.assertRaises(RuntimeError) as refused:
                    save(source, self.path)
                self.assertIn("mlx4: the state cannot be saved: ", str(refused.exception))
                source.set(name, "")
            save(source, self.path)
        record = self.path + ".record"
        with Machine("-device", f"mlx4,id=hca0,x-record={record}") as source:
            with self.assertRaises(RuntimeError) as refused:
                save(source, self.path)
            self.assertIn("a recording is being written", str(refused.exception))

    def test_a_machine_that_can_always_be_moved(self):
        with self.assertRaises(QemuRefused) as refused:
            with Machine(
                "-only-migratable", "-device", f"mlx4,id=hca0,x-record={self.path}.record"
            ):
                pass
        self.assertIn("only-migratable", str(refused.exception))
        with Machine("-only-migratable", "-device", "mlx4,id=hca0") as machine:
            with self.assertRaises(RuntimeError) as refused:
                machine.set("x-fault-command", "NOP:0x0b")
            self.assertIn("only-migratable", str(refused.exception))
            self.assertEqual("", machine.get("x-fault-command"))
            function = machine.function()
            bar0, _ = function.enable()
            firmware = Firmware(machine, bar0)
            firmware.start()
            self.assertEqual(0, firmware.command(NOP))

    def test_a_removed_adapter_stays_removed(self):
        device = ("-device", "mlx4,id=hca0")
        with Machine(*device) as source:
            source.function().enable()
            source.set("x-fault-removed", True)
            save(source, self.path)
        machine = self.load(*device)
        self.assertTrue(machine.get("x-fault-removed"))
        self.assertEqual(0xFFFFFFFF, machine.function().read(0))
        self.assertEqual(0xFFFFFFFF, machine.read(0xE0000000 + MSIX_TABLE))
        machine.set("x-fault-removed", False)
        self.assertEqual(0x100715B3, machine.function().read(0))

    def test_the_cables_are_those_of_the_new_machine(self):
        arguments = ("-netdev", "hubport,id=n1,hubid=0", "-netdev", "hubport,id=n2,hubid=0")
        arguments += ("-device", "mlx4,id=hca0,link1=eth,link2=eth,netdev1=n1,netdev2=n2")
        source = self.start(*arguments)
        adapter = Adapter(source)
        adapter.open(1)
        adapter.open(2)
        wire.until(adapter.up, source)
        save(source, self.path)
        source.__exit__()
        adapter.machine = adapter.firmware.machine = self.start(*arguments, "-incoming", "defer")
        adapter.machine.qmp("set_link", name="n1", up=False)
        adapter.machine.qmp("migrate-incoming", uri=f"exec:cat {self.path}")
        go_on(adapter.machine)
        self.assertFalse(adapter.up())
        adapter.machine.qmp("set_link", name="n1", up=True)
        wire.until(adapter.up, adapter.machine)

    def test_frames_that_wait_for_a_cable_go_with_the_machine(self):
        many, waiting = 900, 512
        path = self.path + ".wire"
        arguments = ("-netdev", f"stream,id=wire,server=off,addr.type=unix,addr.path={path}")
        arguments += ("-device", "mlx4,id=hca0,link1=eth,netdev1=wire")
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.settimeout(30)
        listener.bind(path)
        listener.listen()
        source = self.start(*arguments)
        silent = wire.Peer(listener=listener)
        self.addCleanup(silent.close)
        adapter = Adapter(source)
        sender = FrameSender(adapter)
        adapter.open()
        wire.until(adapter.up, source)
        head = b"\xff" * 6 + b"\x02" * 6 + TYPE
        sender.send([(head + struct.pack(">I", n)).ljust(44, b"\0") for n in range(many)])
        counted = []
        wire.until(
            lambda: counted.append(source.get("counter-port1_packets_sent"))
            or (len(counted) > 20 and counted[-1] == counted[-20] > waiting),
            source,
        )
        save(source, self.path)
        source.__exit__()
        machine = self.start(*arguments, "-incoming", f"exec:cat {self.path}")
        peer = wire.Peer(listener=listener)
        self.addCleanup(peer.close)
        go_on(machine)

        def numbers():
            return [struct.unpack_from(">I", p, 14)[0] for p in peer.packets if p[12:14] == TYPE]

        wire.until(lambda: peer.receive(0.01) and many - 1 in numbers(), machine, step=1)
        # What the old socket held is lost, as on a cable that is moved to another plug.
        first = numbers()[0]
        self.assertLessEqual(first, many - waiting)
        self.assertEqual(list(range(first, many)), numbers())
        # QEMU announces the port: switches learn where it is now.
        self.assertIn(RARP, [packet[12:14] for packet in peer.packets])
        self.assertEqual(0, machine.get("counter-complaints"))


class Guids(unittest.TestCase):
    def serial(self, *arguments, slots=(1,)):
        with Machine(*arguments) as machine:
            return [
                function.extended(0x148 + 8) << 32 | function.extended(0x148 + 4)
                for function in (machine.function(slot).open_window() for slot in slots)
            ]

    def test_a_machine_with_a_uuid(self):
        one = ("-uuid", "6d4e2a7c-8a59-4d6c-9c0e-0a4c6f1e2b3d")
        other = ("-uuid", "6d4e2a7c-8a59-4d6c-9c0e-0a4c6f1e2b3e")
        named = ("-device", "mlx4,id=hca0")
        first = self.serial(*one, *named)
        self.assertEqual(first, self.serial(*one, *named))
        self.assertNotEqual(first, self.serial(*other, *named))
        self.assertNotEqual(first, self.serial(*one, "-device", "mlx4,id=hca1"))
        both = self.serial(*one, "-device", "mlx4", "-device", "mlx4", slots=(1, 2))
        self.assertEqual(2, len(set(both)))
        for guid in first + both:
            self.assertEqual(0x0002C90300, guid >> 24)
            self.assertEqual(0, guid % 16)
        self.assertEqual(
            [0x0002C90300F0CB00], self.serial(*one, "-device", "mlx4,guid=0x0002c90300f0cb00")
        )

    def test_a_machine_without_a_uuid(self):
        both = self.serial("-device", "mlx4", "-device", "mlx4", slots=(1, 2))
        self.assertEqual([0x0002C90300F0CA00, 0x0002C90300F0CA10], both)

    def test_two_cards_with_one_guid(self):
        for guid in ("0x0002c90300f0ca00", "0x0002c90300f0ca03"):
            with self.assertRaises(QemuRefused) as refused:
                with Machine("-device", "mlx4,id=hca0", "-device", f"mlx4,id=hca1,guid={guid}"):
                    pass
            self.assertIn(f"guid={guid}: 'hca0' has 0x0002c90300f0ca00", str(refused.exception))
