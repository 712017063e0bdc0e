# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The device's properties: what is refused and with which words, what can be read and set through
QMP."""
import unittest

from machine import Machine, QemuRefused

REFUSED = {
    "variant=connectx4": "connectx3-pro, connectx3 or connectx2",
    "ports=3": "1 or 2",
    "ports=0": "1 or 2",
    "link1=roce": "'ib' or 'eth'",
    "link2=x": "'ib' or 'eth'",
    "ports=1,link2=ib": "link2= needs ports=2",
    "ports=1,cable2=off": "cable2= needs ports=2",
    "cable1=maybe": "cable1",
    "sm=maybe": "'on' or 'off'",
    "flr=2": "'on' or 'off'",
    "max-commands=7": "power of two from 1 to 128",
    "max-commands=0": "power of two from 1 to 128",
    "max-commands=256": "power of two from 1 to 128",
    "bar2-size=9M": "8M, 16M, 32M, 64M or 128M",
    "host-memory-limit=31M": "host-memory-limit=32505856: 32M or more",
    "bar2-size=4M": "8M, 16M, 32M, 64M or 128M",
    "bar2-size=256M": "8M, 16M, 32M, 64M or 128M",
    "class-code=0x1000000": "24 bits",
    "guid=1234": "16 hexadecimal digits",
    "guid=0x0002c90300f0ca0g": "16 hexadecimal digits",
    "guid=0000:0000:0000:0000": "16 hexadecimal digits",
    "guid=0x0002c90300f0cafd": "room for three more",
    "mac=00:02:c9:f0:ca": "unicast Ethernet address",
    "mac=01:02:c9:f0:ca:01": "unicast Ethernet address",
    "mac=00-02-c9-f0-ca-01": "unicast Ethernet address",
    "x-fault-command-acceptance=soon": "x-fault-command-acceptance",
    "x-fault-command-latency=soon": "x-fault-command-latency",
    "x-msix=far": "x-msix",
    "x-prefetch=far": "x-prefetch",
    "x-without=xrc,,wheels": "the capabilities are uc xrc srq",
    "no-such=1": "no-such",
}


class Properties(unittest.TestCase):
    def test_bad_values_are_refused_and_the_message_says_what_is_allowed(self):
        for given, expected in REFUSED.items():
            with self.subTest(given):
                with self.assertRaises(QemuRefused) as refused:
                    with Machine("-device", "mlx4," + given):
                        pass
                self.assertIn(expected, str(refused.exception))
                self.assertEqual(1, str(refused.exception).strip().count("\n") + 1)

    def test_good_values(self):
        for given in (
            "variant=connectx3-pro",
            "variant=connectx3",
            "variant=connectx2",
            "ports=1",
            "link1=eth",
            "link1=ib,link2=eth",
            "link1=vpi-ib,link2=vpi-eth",
            "ports=1,link1=vpi-eth",
            "sm=off",
            "flr=off",
            "max-commands=1",
            "max-commands=128",
            "class-code=0x020700",
            "x-msix=off",
            "x-prefetch=on",
            "x-without=xrc,,srq",
            "guid=0002:c903:00f0:ca10",
            "mac=00:02:c9:f0:ca:10",
        ):
            with self.subTest(given), Machine("-device", "mlx4,id=hca0," + given) as machine:
                self.assertEqual(0, machine.get("counter-complaints"))

    def test_counters_are_one_object_and_one_property_each(self):
        with Machine("-device", "mlx4,id=hca0") as machine:
            counters = machine.get("counters")
            self.assertIn("complaints", counters)
            self.assertIn("commands", counters)
            for name, value in counters.items():
                self.assertEqual(value, machine.get("counter-" + name), name)
            with self.assertRaises(RuntimeError):
                machine.set("counter-complaints", 1)
            with self.assertRaises(RuntimeError):
                machine.set("counters", {})

    def test_faults_are_set_while_the_machine_runs(self):
        with Machine(
            "-device", "mlx4,id=hca0,x-fault-command-acceptance=3,x-fault-command-latency=7"
        ) as machine:
            self.assertEqual(3, machine.get("x-fault-command-acceptance"))
            self.assertEqual(7, machine.get("x-fault-command-latency"))
            self.assertTrue(machine.get("x-fault-commands-side-by-side"))
            machine.set("x-fault-command-latency", 1000000)
            machine.set("x-fault-commands-side-by-side", False)
            self.assertEqual(1000000, machine.get("x-fault-command-latency"))
            self.assertEqual(3, machine.get("x-fault-command-acceptance"))
            self.assertFalse(machine.get("x-fault-commands-side-by-side"))
