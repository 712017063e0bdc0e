# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""capture1= and capture2=, and x-fault-link1=."""
import os
import tempfile
import threading
import unittest

import capture_file
import wire
from machine import Machine, QemuRefused
from test_links import Adapter

HUB = ("-netdev", "hubport,id=n1,hubid=0", "-netdev", "hubport,id=n2,hubid=0")


def packets_of(path, link_type=capture_file.INFINIBAND):
    """Pairs of nanoseconds and bytes."""
    return list(capture_file.timed_packets_of(path, link_type))


class Captures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="freehca-captures-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "one.pcap")

    def test_a_file_that_cannot_be_is_refused_at_start(self):
        for given, expected in (
            (f"capture1={self.path}/no/such", "No such file"),
            ("capture1=/", "directory"),
            ("capture1=/dev/full", "No space left"),
            ("capture2=x.pcap,ports=1", "capture2= needs ports=2"),
        ):
            with self.subTest(given):
                with self.assertRaises(QemuRefused) as refused:
                    with Machine("-device", "mlx4," + given):
                        pass
                self.assertIn(expected, str(refused.exception))

    def test_each_file_is_of_its_port_s_link_type(self):
        other = self.path + ".2"
        with Machine("-device", f"mlx4,link2=eth,capture1={self.path},capture2={other}"):
            pass
        self.assertEqual([], packets_of(self.path))
        self.assertEqual([], packets_of(other, capture_file.ETHERNET))

    def test_what_the_built_in_manager_says_is_there_after_a_kill(self):
        with Machine("-device", f"mlx4,id=hca0,capture1={self.path}") as machine:
            adapter = Adapter(machine)
            adapter.open()
            wire.until(lambda: machine.get("counter-port1_packets_sent") > 5, machine)
            counted = machine.get("counter-port1_packets_sent") + machine.get(
                "counter-port1_packets_received"
            )
            self.assertEqual(0, machine.get("capture-errors"))
            machine.process.kill()
        packets = packets_of(self.path)
        self.assertEqual(counted, len(packets))
        times = [time for time, _ in packets]
        self.assertEqual(sorted(times), times)
        for _, packet in packets:
            self.assertTrue(wire.is_sealed(packet))
        self.assertEqual(
            0x11, packets[0][1][28 + 17] | packets[2][1][28 + 17]
        )  # NodeDescription, then NodeInfo

    def test_a_file_that_takes_no_more_is_counted_and_the_rest_goes_on(self):
        os.mkfifo(self.path)
        reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        with Machine("-device", f"mlx4,id=hca0,capture1={self.path}") as machine:
            self.assertEqual(24, len(os.read(reader, 4096)))
            os.close(reader)
            Adapter(machine).open()
            wire.until(lambda: machine.get("capture-errors") > 5, machine)
            self.assertEqual(0, machine.get("counter-complaints"))
        self.assertEqual(1, machine.errors.count("is only counted"))

    def test_a_file_that_is_written_too_slowly_costs_packets_and_stops_nothing(self):
        os.mkfifo(self.path)
        reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        cable, copy = self.path + ".wire", self.path + ".copy"
        many, frame = 700, b"\xff" * 6 + b"\x02" * 6 + b"\x88\xb5" + bytes(9000)
        with Machine(
            *("-netdev", f"stream,id=wire,server=on,addr.type=unix,addr.path={cable}"),
            *("-device", f"mlx4,id=hca0,link1=eth,netdev1=wire,capture1={self.path}"),
        ) as machine:
            adapter = Adapter(machine)
            peer = wire.Peer(cable)
            self.addCleanup(peer.close)
            adapter.open()
            wire.until(adapter.up, machine)
            # Nobody reads, and the adapter takes them all the same.
            for _ in range(many):
                peer.send(frame)
            wire.until(lambda: machine.get("counter-port1_packets_received") == many, machine)

            def read_all():
                os.set_blocking(reader, True)
                with open(copy, "wb") as file:
                    while data := os.read(reader, 1 << 20):
                        file.write(data)

            thread = threading.Thread(target=read_all)
            thread.start()
            lost = machine.get("capture-errors")
        thread.join()
        self.assertGreater(lost, 0)
        self.assertEqual(many - lost, len(packets_of(copy, capture_file.ETHERNET)))
        self.assertEqual(1, machine.errors.count("more slowly than packets come"))

    def test_what_waits_to_be_written_is_written_when_qemu_exits(self):
        with Machine("-device", f"mlx4,id=hca0,capture1={self.path}") as machine:
            Adapter(machine).open()
            wire.until(lambda: machine.get("counter-port1_packets_sent") > 5, machine)
            counted = machine.get("counter-port1_packets_sent") + machine.get(
                "counter-port1_packets_received"
            )
            machine.qmp("quit")
            machine.process.wait()
        self.assertEqual(counted, len(packets_of(self.path)))

    def test_a_bad_cable_is_asked_for_while_the_machine_runs(self):
        for given, expected in (
            ("x-fault-link1=loss:1", "must have a cable"),
            ("netdev1=n1,x-fault-link1=los:1", "'loss', 'corruption'"),
        ):
            with self.assertRaises(QemuRefused) as refused:
                with Machine(*HUB, "-device", "mlx4," + given):
                    pass
            self.assertIn(expected, str(refused.exception))
        with Machine(
            *HUB, "-device", "mlx4,id=hca0,netdev1=n1,netdev2=n2,x-fault-link1=loss:5:seed:9"
        ) as machine:
            self.assertEqual("loss:5:seed:9", machine.get("x-fault-link1"))
            self.assertEqual("", machine.get("x-fault-link2"))
            machine.set("x-fault-link1", "")
            machine.set("x-fault-link2", "corruption:1000000")
            with self.assertRaises(RuntimeError):
                machine.set("x-fault-link2", "corruption:1000001")
            self.assertEqual("corruption:1000000", machine.get("x-fault-link2"))
