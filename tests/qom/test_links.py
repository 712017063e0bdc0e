# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""netdev1= and netdev2=: what is refused, two machines on one cable, two ports of one device, a
cable that is pulled, a device that is, and a peer that is this program."""
import json
import os
import random
import re
import socket
import struct
import tempfile
import unittest

import wire
from firmware import EQN, FIRST_MTT, Firmware, swap
from machine import Machine, QemuRefused

INIT_PORT, CLOSE_PORT, QUERY_PORT = 0x009, 0x00A, 0x043
SW2HW_CQ, RST2INIT_QP, INIT2RTR_QP, RTR2RTS_QP = 0x016, 0x019, 0x01A, 0x01B
LINK_UP = 0x80
OUTPUT = 0x201000

REFUSED = {
    ("-netdev", "hubport,id=n1,hubid=0", "netdev2=n1,ports=1"): "netdev2= needs ports=2",
    ("-netdev", "hubport,id=n1,hubid=0", "netdev1=n1,netdev2=n1"): "in use",
    ("-netdev", "hubport,id=n1,hubid=0", "netdev1=n2"): "netdev1",
    ("-netdev", "hubport,id=n1,hubid=0", "netdev1=n1,name1=a"): "of type stream",
    ("-netdev", "hubport,id=n1,hubid=0", "netdev1=n1,name1=a b"): "letters, digits",
    ("-netdev", "hubport,id=n1,hubid=0", "netdev1=n1,cable1=off"): "use set_link",
    ("-netdev", "hubport,id=n1,hubid=0", "cable1=off,netdev1=n1"): "use set_link",
}


def calls_of(record, name):
    """The calls of that name in a recording, of which the last line may not be whole."""
    with open(record, encoding="utf-8") as file:
        lines = file.read().split("\n")[:-1]
    return [call for call in map(json.loads, lines) if call.get("call") == name]


def text_of_stream(machine):
    """What QEMU says of the connection of the netdev `wire`."""
    network = machine.qmp("human-monitor-command", **{"command-line": "info network"})
    (text,) = re.findall(r"wire: index=0,type=stream,(.*)", network)
    return text.strip()


class Adapter:
    """A machine with one adapter whose firmware runs."""

    def __init__(self, machine, slot=1):
        self.machine = machine
        self.function = machine.function(slot)
        bar0, self.bar2 = self.function.enable()
        self.firmware = Firmware(machine, bar0)
        self.firmware.bring_up()

    def open(self, port=1):
        assert self.firmware.command(INIT_PORT, 0, port) == 0

    def close(self, port=1):
        assert self.firmware.command(CLOSE_PORT, 0, port) == 0

    def up(self, port=1):
        assert self.firmware.command(QUERY_PORT, 0, port, OUTPUT) == 0
        return bool(self.machine.read_bytes(OUTPUT, 1)[0] & LINK_UP)


class FrameSender:
    """A raw Ethernet queue pair of an adapter's port 1, whose sends are frames within the entry."""

    ENTRIES, STRIDE, FRAME_BYTES = 1024, 64, 44
    RING, COMPLETIONS, RECORDS = 0x400000, 0x204000, 0x206000
    MTT_PLACE = 0x1090000  # of firmware.py's bring-up
    CQN, QPN, UAR_PAGE, SEND_DOORBELL = 0x88, 0x60, 128, 0x14

    def __init__(self, adapter):
        self.machine, firmware = adapter.machine, adapter.firmware
        self.doorbell = adapter.bar2 + 4096 * self.UAR_PAGE + self.SEND_DOORBELL
        pages = [self.COMPLETIONS] + list(
            range(self.RING, self.RING + self.ENTRIES * self.STRIDE, 4096)
        )
        for number, page in enumerate(pages, FIRST_MTT + 2):
            self.machine.write_bytes(self.MTT_PLACE + 8 * number, (page | 1).to_bytes(8, "big"))
        self.machine.write_bytes(self.COMPLETIONS, b"\xff" * 4096)
        queue = bytearray(0x40)
        queue[0x0C:0x10] = (6 << 24 | self.UAR_PAGE).to_bytes(4, "big")
        queue[0x17] = EQN
        queue[0x18:0x20] = (8 * (FIRST_MTT + 2)).to_bytes(8, "big")
        queue[0x38:0x40] = self.RECORDS.to_bytes(8, "big")
        assert firmware.with_mailbox(SW2HW_CQ, queue, self.CQN) == 0
        mailbox = bytearray(0x100 + 8)
        for offset, value in (
            (0x00, 7 << 16 | 3 << 11),  # MLX
            (0x08, 7 << 29 | 31 << 24 | 1 << 23 | 10 << 11 | 2 << 8),
            (0x0C, self.UAR_PAGE),
            (0x10, self.QPN),
            (0x1C, 0xFF << 24),
            (0x20, 1 << 24),
            (0x38, 0x83 << 24),
            (0x7C, self.CQN),
            (0x9C, self.CQN),
            (0xCC, 8 * (FIRST_MTT + 3)),
        ):
            mailbox[8 + offset : 12 + offset] = value.to_bytes(4, "big")
        for step in (RST2INIT_QP, INIT2RTR_QP, RTR2RTS_QP):
            assert firmware.with_mailbox(step, mailbox, self.QPN) == 0

    def send(self, frames):
        """All by one doorbell, into a ring that is new."""
        entries = b""
        for frame in frames:
            control = struct.pack(">IIII", 0x0A, self.STRIDE // 16, 2, 0)
            entries += control + struct.pack(">I", 1 << 31 | len(frame)) + frame
        self.machine.write_bytes(self.RING, entries + b"\x80")  # and none behind them
        self.machine.write(self.doorbell, swap(self.QPN << 8))


class Links(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="freehca-links-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "wire")

    def stream(self, role, device="mlx4,id=hca0,netdev1=wire"):
        return Machine(
            "-netdev",
            f"stream,id=wire,server={role},addr.type=unix,addr.path={self.path}",
            "-device",
            device,
        )

    def test_what_cannot_be_is_refused(self):
        for (option, backend, given), expected in REFUSED.items():
            with self.subTest(given):
                with self.assertRaises(QemuRefused) as refused:
                    with Machine(option, backend, "-device", "mlx4," + given):
                        pass
                self.assertIn(expected, str(refused.exception))

    def test_a_backend_for_ethernet_frames_is_refused(self):
        with self.assertRaises(QemuRefused) as refused:
            with Machine("-netdev", "user,id=n1", "-device", "mlx4,netdev1=n1"):
                pass
        self.assertIn(
            "type 'user' cannot carry InfiniBand packets; use -netdev stream, dgram, socket or hubport",
            str(refused.exception),
        )

    def test_an_ethernet_port_takes_any_backend_and_is_a_network_card(self):
        with Machine(
            *("-netdev", "user,id=n1", "-netdev", "hubport,id=n2,hubid=0"),
            "-device",
            "mlx4,id=hca0,link1=eth,netdev1=n1,link2=eth,netdev2=n2,mac=00:02:c9:00:00:fe",
        ) as machine:
            network = machine.qmp("human-monitor-command", **{"command-line": "info network"})
            for port, address in ((1, "00:02:c9:00:00:fe"), (2, "00:02:c9:00:00:ff")):
                self.assertIn(
                    f"hca0.{port}: index=0,type=nic,model=mlx4,macaddr={address}", network
                )
                (rules,) = machine.qmp("query-rx-filter", name=f"hca0.{port}")
                self.assertEqual(address, rules["main-mac"])
                # Nobody has opened the port.
                self.assertFalse(rules["promiscuous"] or rules["broadcast-allowed"])
                self.assertEqual(["none"] * 3, [rules[k] for k in ("unicast", "multicast", "vlan")])
                for table in ("unicast-table", "multicast-table", "vlan-table"):
                    self.assertEqual([], rules[table])
            self.assertEqual(0, machine.get("counter-complaints"))

    def test_a_vpi_port_takes_any_backend_and_trains_where_packets_can_go(self):
        dump = self.path + ".pcap"
        file_header_bytes = 24
        for backend, trains in (("user,id=n1", False), ("hubport,id=n1,hubid=0", True)):
            with self.subTest(backend), Machine(
                *("-netdev", backend, "-object", f"filter-dump,id=f,netdev=n1,file={dump}"),
                *("-device", "mlx4,id=hca0,link1=vpi-ib,netdev1=n1"),
            ) as machine:
                Adapter(machine).open()
                machine.step_clock(2_000_000_000)
                self.assertEqual(trains, os.path.getsize(dump) > file_header_bytes)
                self.assertEqual(0, machine.get("counter-complaints"))

    def test_the_cable_of_an_ethernet_port_is_pulled_at_either_end_and_with_the_netdev(self):
        record = self.path + ".jsonl"
        with self.stream("on", f"mlx4,id=hca0,link1=eth,netdev1=wire,x-record={record}") as machine:
            # QEMU 7.2 uses a stream's memory after it is deleted, when it was still opening its
            # socket (net/stream.c net_stream_server_listening). A peer shows that it is open.
            peer = wire.Peer(self.path)
            self.addCleanup(peer.close)
            wire.until(lambda: text_of_stream(machine) != "", machine)
            for name in ("hca0.1", "wire"):
                for up in (False, True):
                    machine.qmp("set_link", name=name, up=up)
            machine.qmp("netdev_del", id="wire")
            machine.qmp("set_link", name="hca0.1", up=True)
        self.assertEqual(
            # The last two: the netdev is gone.
            [False, True, False, True, False, False],
            [call["plugged"] for call in calls_of(record, "plug_cable") if call["port"] == 1],
        )

    def test_the_text_of_a_stream_tells_whether_it_is_connected(self):
        """What qemu/qom/links.c reads, since QEMU tells a device in no other way."""
        source = os.path.join(os.path.dirname(__file__), "../../qemu/qom/links.c")
        with open(source, encoding="utf-8") as file:
            (words,) = re.findall(r"without\[\] = \{(.*?)\};", file.read(), re.DOTALL)
        without = tuple(re.findall(r'"(.*?)"', words))
        self.assertIn("listening", without)

        def has_begun():
            text = text_of_stream(machine)
            return not text.startswith(without) and text != ""

        with self.stream("on", "mlx4,id=hca0,link1=eth,netdev1=wire") as machine:
            for _ in range(3):
                self.assertFalse(has_begun())
                peer = wire.Peer(self.path)
                wire.until(has_begun, machine)
                for up in (False, True):
                    machine.qmp("set_link", name="wire", up=up)
                    self.assertTrue(has_begun())
                peer.close()
                wire.until(lambda: not has_begun(), machine)

    def test_a_name_is_the_first_frame_of_a_connection(self):
        device = "mlx4,id=hca0,link1=eth,netdev1=wire,name1=host-1"
        with self.stream("on", device) as machine:
            adapter = Adapter(machine)
            peer = wire.Peer(self.path)
            self.addCleanup(peer.close)
            adapter.open()
            wire.until(lambda: peer.receive(0.01) and peer.packets, machine)
            first = peer.packets[0]
            self.assertEqual(128, len(first))
            self.assertEqual(b"freehca hello\x01\x01\x01\0\x06", first[14:32])
            self.assertEqual(b"host-1\0", first[64:71])
            adapter.close()
            self.assertEqual(1, sum(b"freehca hello" in packet for packet in peer.packets))

    def test_frames_that_waited_for_the_backend_go_out_a_few_with_each_turn(self):
        many, waiting, a_turn = 900, 512, 64
        # The end that connects: in QEMU 7.2 the other end blocks when its socket is full.
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.settimeout(30)
        listener.bind(self.path)
        listener.listen()
        with self.stream("off", "mlx4,id=hca0,link1=eth,netdev1=wire") as machine:
            peer = wire.Peer(listener=listener)
            self.addCleanup(peer.close)
            adapter = Adapter(machine)
            sender = FrameSender(adapter)
            adapter.open()
            wire.until(adapter.up, machine)
            head = b"\xff" * 6 + b"\x02" * 6 + b"\x88\xb5"
            sender.send([(head + struct.pack(">I", n)).ljust(44, b"\0") for n in range(many)])
            # The peer does not read: the socket is full at last, and so is what waits for it.
            counted = []
            wire.until(
                lambda: counted.append(machine.get("counter-port1_packets_sent"))
                or (len(counted) > 20 and counted[-1] == counted[-20] > waiting),
                machine,
            )
            turns = machine.get("counter-turns")
            wire.until(lambda: peer.receive(0.01) and len(peer.packets) == many, machine, step=1)
            self.assertGreaterEqual(machine.get("counter-turns") - turns, waiting // a_turn - 1)
            numbers = [struct.unpack_from(">I", packet, 14)[0] for packet in peer.packets]
            self.assertEqual(list(range(many)), numbers)
            self.assertEqual(0, machine.get("counter-complaints"))

    def test_a_short_frame_is_padded_and_a_packet_is_not(self):
        frame = bytes.fromhex("ffffffffffff 020000000001 88b5") + b"short"
        padded = frame.ljust(60, b"\0")
        for link, expected in (
            ("eth", padded),
            ("ib", frame),
            ("vpi-eth", frame),
            ("vpi-ib", frame),
        ):
            record = f"{self.path}.{link}.jsonl"
            device = f"mlx4,id=hca0,link1={link},netdev1=wire,x-record={record}"
            with self.subTest(link), self.stream("on", device) as machine:
                peer = wire.Peer(self.path)
                self.addCleanup(peer.close)
                long = frame.ljust(9014, b"\x5a")
                peer.send(frame)
                peer.send(long)
                wire.until(lambda: len(calls_of(record, "link_receive")) == 2, machine)
                came = [bytes.fromhex(c["hex"]) for c in calls_of(record, "link_receive")]
                self.assertEqual([expected, long], came)

    def test_the_adapter_has_a_place_in_the_boot_order(self):
        with Machine("-device", "mlx4,id=hca0,bootindex=3", "-device", "mlx4,id=hca1") as machine:
            self.assertEqual((3, -1), (machine.get("bootindex"), machine.get("bootindex", "hca1")))
            self.assertEqual(
                b"/pci@i0cf8/pci15b3,1007@1/ethernet-phy@0\0",
                machine.firmware_file("bootorder").removesuffix(b"HALT\0"),
            )

    def test_an_infiniband_port_has_no_filter_to_ask_for(self):
        with Machine(
            "-netdev", "hubport,id=n1,hubid=0", "-device", "mlx4,id=hca0,netdev1=n1"
        ) as machine:
            with self.assertRaises(RuntimeError) as refused:
                machine.qmp("query-rx-filter", name="hca0.1")
            self.assertIn("doesn't support rx-filter querying", str(refused.exception))

    def test_two_ports_of_one_device_are_one_link_through_a_hub_or_two_sockets(self):
        hub = ("-netdev", "hubport,id=n1,hubid=0", "-netdev", "hubport,id=n2,hubid=0")
        sockets = tuple(
            word
            for own, far in ((1, 2), (2, 1))
            for word in (
                "-netdev",
                f"dgram,id=n{own},local.type=unix,local.path={self.path}{own},"
                f"remote.type=unix,remote.path={self.path}{far}",
            )
        )
        for backends in (hub, sockets):
            with self.subTest(backends[1]), Machine(
                *backends, "-device", "mlx4,id=hca0,netdev1=n1,netdev2=n2"
            ) as machine:
                adapter = Adapter(machine)
                adapter.open(1)
                machine.step_clock(2_000_000_000)
                self.assertFalse(adapter.up(1))
                adapter.open(2)
                wire.until(lambda: adapter.up(1) and adapter.up(2), machine)
                adapter.close(1)
                wire.until(lambda: not adapter.up(2), machine, step=1)
                self.assertEqual(0, machine.get("counter-complaints"))

    def test_two_machines_are_one_link_and_set_link_pulls_the_cable(self):
        with self.stream("on") as one, self.stream(
            "off", "mlx4,id=hca0,netdev1=wire,guid=0x0002c90300f0cb00"
        ) as two:
            left, right = Adapter(one), Adapter(two)
            left.open()
            right.open()

            def both():
                return left.up() and right.up()

            wire.until(both, one, two)
            one.qmp("set_link", name="hca0.1", up=False)
            self.assertFalse(left.up())
            wire.until(lambda: not right.up(), two, step=1)
            one.step_clock(3_000_000_000)
            self.assertFalse(left.up())
            one.qmp("set_link", name="hca0.1", up=True)
            wire.until(both, one, two)
            one.qmp("set_link", name="wire", up=False)
            self.assertFalse(left.up())
            one.qmp("set_link", name="wire", up=True)
            wire.until(both, one, two)
            for machine in (one, two):
                self.assertEqual(0, machine.get("counter-port1_bad_link_packets"))
                self.assertEqual(0, machine.get("counter-complaints"))

    def test_the_cable_to_the_built_in_manager_is_pulled_and_plugged_in(self):
        with Machine("-device", "mlx4,id=hca0,cable2=off") as machine:
            adapter = Adapter(machine)
            adapter.open(1)
            adapter.open(2)
            wire.until(lambda: adapter.up(1), machine)
            self.assertEqual((True, False), (machine.get("cable1"), machine.get("cable2")))
            machine.step_clock(3_000_000_000)
            self.assertFalse(adapter.up(2))
            machine.set("cable1", False)
            machine.set("cable2", True)
            self.assertFalse(adapter.up(1))
            wire.until(lambda: adapter.up(2), machine)
            machine.set("cable1", True)
            wire.until(lambda: adapter.up(1) and adapter.up(2), machine)
            self.assertEqual(0, machine.get("counter-complaints"))

    def test_a_machine_that_ends_is_missed(self):
        with self.stream("on") as one:
            left = Adapter(one)
            left.open()
            with self.stream("off") as two:
                right = Adapter(two)
                right.open()
                wire.until(lambda: left.up() and right.up(), one, two)
            wire.until(lambda: not left.up(), one, step=1_000_000_000)

    def test_an_adapter_that_is_unplugged_takes_the_link_with_it(self):
        port = (
            "-global",
            "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
            "-device",
            "pcie-root-port,id=port1,slot=1,chassis=1",
        )
        with self.stream("on") as one, Machine(
            *port, "-netdev", f"stream,id=wire,server=off,addr.type=unix,addr.path={self.path}"
        ) as two:
            root = two.function(1)
            for at, value, size in (
                (0x18, 0x010100, 4),
                (0x20, 0xE1F0E000, 4),
                (0x24, 0xE9F1E801, 4),
                (0x04, 6, 2),
            ):
                root.write(at, value, size)
            control = next(at for at, number in root.capabilities() if number == 0x10) + 0x18
            left = Adapter(one)
            left.open()
            for _ in range(3):
                root.write(control, 0x100, 2)
                two.qmp("device_add", driver="mlx4", id="hca0", bus="port1", netdev1="wire")
                function = two.function(0, bus=1)
                firmware = Firmware(two, function.enable()[0])
                firmware.bring_up()
                self.assertEqual(0, firmware.command(INIT_PORT, 0, 1))
                wire.until(left.up, one, two)
                two.qmp("device_del", id="hca0")
                root.write(control, 0x700, 2)
                while two.wait_event("DEVICE_DELETED").get("device") != "hca0":
                    pass
                wire.until(lambda: not left.up(), one, step=1)

    def test_a_netdev_that_is_deleted_takes_the_link_down(self):
        with self.stream("on") as one, self.stream("off") as two:
            left, right = Adapter(one), Adapter(two)
            left.open()
            right.open()
            wire.until(lambda: left.up() and right.up(), one, two)
            one.qmp("netdev_del", id="wire")
            self.assertFalse(left.up())
            wire.until(lambda: not right.up(), two, step=1)
            # There is nothing to plug in to.
            one.qmp("set_link", name="hca0.1", up=True)
            one.step_clock(3_000_000_000)
            self.assertFalse(left.up())

    def trained(self, machine):
        """A peer that has brought the link up."""
        adapter = Adapter(machine)
        peer = wire.Peer(self.path)
        self.addCleanup(peer.close)
        adapter.open()
        peer.train(machine)
        self.assertTrue(adapter.up())
        return adapter, peer

    def test_an_independent_peer_trains_and_asks_who_is_there(self):
        with self.stream("on") as machine:
            _, peer = self.trained(machine)
            peer.send(wire.directed_request(wire.NODE_INFO, 0x1234))

            def answered():
                peer.receive(0.01)
                return peer.packets

            wire.until(answered, machine, step=1)
            answer = peer.packets[0]
            self.assertEqual(8 + 12 + 8 + 256 + 6, len(answer))
            self.assertTrue(wire.is_sealed(answer))
            mad = answer[28:284]
            self.assertEqual(
                (wire.GET_RESPONSE, 0x1234), (mad[3], int.from_bytes(mad[8:16], "big"))
            )
            self.assertEqual(0x0002C90300F0CA00, int.from_bytes(mad[64 + 12 : 64 + 20], "big"))

    def test_noise_does_no_harm(self):
        with self.stream("on") as machine:
            adapter, peer = self.trained(machine)
            source = random.Random(5)
            bad = wire.directed_request(wire.NODE_INFO, 1)
            for count in range(3000):
                kind = source.randrange(4)
                if kind == 0:
                    data = source.randbytes(source.randrange(1, 5000))
                elif kind == 1:
                    data = wire.link_packet(source.randrange(16), source.randrange(16))
                elif kind == 2:
                    data = source.randbytes(6)
                else:
                    data = bytearray(bad)
                    data[source.randrange(len(data))] ^= 1 << source.randrange(8)
                peer.send(bytes(data))
                if count % 20 == 0:
                    machine.step_clock(1_000_000)
                while peer.receive(0):
                    pass
            wire.until(lambda: machine.get("counter-port1_bad_link_packets") > 0, machine)
            self.assertEqual(0, machine.get("counter-complaints"))
            adapter.close()
            self.assertFalse(adapter.up())


if __name__ == "__main__":
    unittest.main()
