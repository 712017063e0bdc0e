#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""link_test.py LIBRARY MEMBER: programs with the link layer and the IP address of --link and --ip,
which the library takes from the environment. MEMBER (tests/ibverbs/fabric_member.cpp) is another
port of the fabric."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

LIBRARY, MEMBER = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
PORT = "/sys/class/infiniband/freehca0/ports/1"
ZEROS = "0000:0000:0000:0000:0000:0000:0000:0000"


class Link(unittest.TestCase):
    def setUp(self):
        self.fabric = f"link-{os.getpid()}-{self._testMethodName[:30]}"

    def run_program(self, *words, **variables):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("FREEHCA_", "LD_"))}
        return subprocess.run(
            words,
            env={**kept, "LD_PRELOAD": LIBRARY, "FREEHCA_FABRIC": self.fabric, **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def member(self, *words):
        """Another port of the fabric, and its address."""
        process = subprocess.Popen(
            [MEMBER, self.fabric, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        return process, process.stdout.readline().split()[1]

    def expect_refusal(self, *parts, **variables):
        ended = self.run_program("ibv_devinfo", **variables)
        self.assertNotEqual(ended.returncode, 0, ended.stdout)
        for part in ("freehca: the device cannot be opened: ", *parts):
            self.assertIn(part, ended.stderr)


class Refuses(Link):
    def test_an_address_that_another_process_has(self):
        other, address = self.member("roce")
        self.expect_refusal(
            f"process {other.pid} of the fabric has the IP address {address}.",
            FREEHCA_LINK="roce",
            FREEHCA_IP=address,
        )

    def test_the_other_link_layer(self):
        self.member("roce")
        self.expect_refusal("link layer Ethernet (RoCE), and this program asks for InfiniBand")

    def test_roce_on_a_fabric_of_infiniband(self):
        self.member()
        self.expect_refusal(
            "link layer InfiniBand, and this program asks for Ethernet (RoCE)", FREEHCA_LINK="roce"
        )

    def test_wrong_variables(self):
        self.expect_refusal("FREEHCA_LINK: 'x' is no link layer", FREEHCA_LINK="x")
        self.expect_refusal("FREEHCA_IP: '1.2.3' is no", FREEHCA_LINK="roce", FREEHCA_IP="1.2.3")

    def test_wrong_vlans(self):
        for vlans, part in (
            ("100", "'100' is no VLAN=ADDRESS"),
            ("0=192.0.2.1", "'0=192.0.2.1' is no VLAN=ADDRESS"),
            ("4095=192.0.2.1", "'4095=192.0.2.1' is no VLAN=ADDRESS"),
            ("7=192.0.2.1,8=x", "'8=x' is no VLAN=ADDRESS"),
            ("7=192.0.2.1,8=192.0.2.1", "VLAN 7: the port has this IP address already"),
            (",".join(f"{i}=192.0.2.{i}" for i in range(1, 10)), "at most 8 addresses on VLANs"),
        ):
            self.expect_refusal(part, FREEHCA_LINK="roce", FREEHCA_VLANS=vlans)
        self.expect_refusal(
            "VLAN 7: the port has this IP address already",
            FREEHCA_LINK="roce",
            FREEHCA_IP="fd00::1",
            FREEHCA_VLANS="7=fd00::1",
        )

    def test_wrong_part_numbers(self):
        for number in ("0", "65535", "0x", "-1", "+1", " 1", "1 ", "99999999999999999999"):
            self.expect_refusal(
                f"FREEHCA_PART_ID: '{number}' is no part number", FREEHCA_PART_ID=number
            )


class Files(Link):
    def texts(self, *paths, **variables):
        ended = self.run_program("grep", "-r", "", *paths, **variables)
        self.assertEqual(ended.stderr, "")
        return dict(line.split(":", 1) for line in ended.stdout.splitlines())

    def gids(self, **variables):
        return self.texts(f"{PORT}/gids", FREEHCA_LINK="roce", **variables)

    def gid_of(self, index, **variables):
        return self.gids(**variables)[f"{PORT}/gids/{index}"]

    def test_an_ethernet_port(self):
        texts = self.texts(PORT, FREEHCA_LINK="roce", FREEHCA_IP="10.1.2.3")
        found = {
            name: texts[f"{PORT}/{name}"]
            for name in ("link_layer", "state", "phys_state", "lid", "sm_lid", "cap_mask", "rate")
        }
        expected = {"link_layer": "Ethernet", "state": "4: ACTIVE", "phys_state": "5: LinkUp"}
        expected |= {"lid": "0x0", "sm_lid": "0x0", "cap_mask": "0x00010000"}
        self.assertEqual(found, {**expected, "rate": "10 Gb/sec (1X QDR)"})
        pkeys = {name: text for name, text in texts.items() if "/pkeys/" in name}
        self.assertEqual(pkeys, {f"{PORT}/pkeys/0": "0xffff"})
        gids = [texts[f"{PORT}/gids/{i}"] for i in range(128)]
        self.assertRegex(gids[0], "^fe80:0000:0000:0000:0202:c9ff:fef0:[0-9a-f]{4}$")
        self.assertEqual(gids[1], gids[0])
        self.assertEqual(gids[2:4], ["0000:0000:0000:0000:0000:ffff:0a01:0203"] * 2)
        self.assertEqual(set(gids[4:]), {ZEROS})
        self.assertNotIn(f"{PORT}/gids/128", texts)
        types = [texts.get(f"{PORT}/gid_attrs/types/{i}") for i in range(128)]
        self.assertEqual(types, ["IB/RoCE v1", "RoCE v2"] * 2 + [None] * 124)
        devices = [texts.get(f"{PORT}/gid_attrs/ndevs/{i}") for i in range(5)]
        self.assertEqual(devices, ["lo"] * 4 + [None])

    def test_the_network_device_has_the_mac_of_the_gids(self):
        name = f"{PORT}/../../device/net/lo/address"
        ended = self.run_program("cat", name, f"{PORT}/gids/0", FREEHCA_LINK="roce")
        mac, gid = ended.stdout.splitlines()
        parts = [int(part, 16) for part in mac.split(":")]
        raw = bytes.fromhex(gid.replace(":", ""))
        self.assertEqual(
            raw[8:], bytes([parts[0] ^ 2, *parts[1:3], 0xFF, 0xFE, *parts[3:]]), (mac, gid)
        )

    def test_addresses_on_vlans(self):
        gids = self.gids(FREEHCA_VLANS="100=192.0.2.1,200=fd00::5")
        found = [gids[f"{PORT}/gids/{i}"] for i in range(4, 9)]
        ipv4 = "0000:0000:0000:0000:0000:ffff:c000:0201"
        ipv6 = "fd00:0000:0000:0000:0000:0000:0000:0005"
        self.assertEqual(found, [ipv4, ipv4, ipv6, ipv6, ZEROS])

    def test_the_part_number(self):
        name = f"{PORT}/../../device/device"
        for number, part in (("", 4103), ("4100", 4100), ("0x1003", 0x1003)):
            ended = self.run_program("ibv_devinfo", FREEHCA_PART_ID=number)
            self.assertRegex(ended.stdout, rf"vendor_part_id:\s+{part}\n", ended.stderr)
            ended = self.run_program("cat", name, FREEHCA_PART_ID=number)
            self.assertEqual(ended.stdout, f"0x{part:04x}\n")

    def test_addresses(self):
        self.assertEqual(self.gid_of(2), "0000:0000:0000:0000:0000:ffff:0a00:0001")
        gid = self.gid_of(2, FREEHCA_IP="fd00::1234")
        self.assertEqual(gid, "fd00:0000:0000:0000:0000:0000:0000:1234")
        _, address = self.member("roce")
        self.assertEqual(address, "10.0.0.1")
        self.assertEqual(self.gid_of(2), "0000:0000:0000:0000:0000:ffff:0a00:0002")

    def test_children_of_the_first_process_take_another_address_if_one_has_it(self):
        _, address = self.member("roce")
        # The number of a process that is not the program.
        first = {"FREEHCA_PROCESS": str(os.getpid())}
        gid = self.gid_of(2, FREEHCA_IP=address, **first)
        self.assertEqual(gid, "0000:0000:0000:0000:0000:ffff:0a00:0002")
        gid = self.gid_of(2, FREEHCA_IP="10.7.7.7", **first)
        self.assertEqual(gid, "0000:0000:0000:0000:0000:ffff:0a07:0707")

    def test_an_infiniband_port_ignores_the_address(self):
        texts = self.texts(PORT, FREEHCA_IP="10.1.2.3")
        self.assertEqual(texts[f"{PORT}/link_layer"], "InfiniBand")
        self.assertFalse([name for name, text in texts.items() if re.search("0a01:0203", text)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
