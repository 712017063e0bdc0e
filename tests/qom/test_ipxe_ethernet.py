# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""iPXE on Ethernet ports of the modelled adapter: the machine boots from the adapter's expansion
ROM, which carries Debian's iPXE; that finds its script by DHCP and TFTP and a kernel by HTTP in
QEMU's user network, and boots it. The kernel is iPXE once more, since it is one that Debian ships
and that can tell by the network that it runs. What names the images stands in test_ipxe.py."""
import http.server
import os
import threading
import unittest

import boot_rom
from ipxe import CHIPS, Ipxe, WithScreen, image_of

DEVICE_IDS = {"connectx2": 0x673C, "connectx3": 0x1003, "connectx3-pro": 0x1007}
MAC = "02:00:00:f0:ca:01"
# The first address that QEMU's user network leases, and the host's in it.
ADDRESS, HOST = "10.0.2.15", "10.0.2.2"
# Jumps to itself: what a machine does whose boot order did not have the adapter first.
DISK = bytes((0xEB, 0xFE)).ljust(510, b"\0") + bytes((0x55, 0xAA)) + bytes(1024 * 1024 - 512)

# "broken" in the beginning of a line ends the test.
BROKEN = """
:broken
echo broken
prompt --key z
"""
FIRST = """#!ipxe
echo first ${net0/ip}
kernel %(url)s/kernel || goto broken
initrd %(url)s/second.ipxe || goto broken
boot || goto broken
"""
SECOND = """#!ipxe
dhcp net0 || goto broken
imgfetch %(url)s/ran/${net0/chip}/${net0/mac:hexhyp}/${net0/ip} || goto broken
prompt --key a step 1
ifclose net0
prompt --key b step 2
"""
OF_PORT_2 = """
echo links ${net0/linktype} ${net1/linktype}
dhcp net1 || goto broken
imgfetch %(url)s/ran/${net1/chip}/${net1/mac:hexhyp}/${net1/ip} || goto broken
prompt --key a step 1
ifclose net1
prompt --key b step 2
"""


class Server(http.server.ThreadingHTTPServer):
    """with Server() as server: ... gives `files`, by their paths, to who asks for them, and
    something to who asks for a path that begins with /ran/. `asked` has the paths."""

    def __init__(self):
        self.files, self.asked = {}, []
        super().__init__(("127.0.0.1", 0), Answer)
        self.url = f"http://{HOST}:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path)
        if self.path.startswith("/ran/"):
            content = b"heard"
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *_):
        pass


class FromRom(WithScreen):
    """A machine whose boot order has the adapter, with the image in its ROM, before a disk."""

    def __init__(self, image, script, device_id, device):
        super().__init__()
        tftp, disk = (os.path.join(self.folder, name) for name in ("tftp", "disk"))
        os.mkdir(tftp)
        with open(os.path.join(tftp, "first.ipxe"), "w", encoding="ascii") as file:
            file.write(script)
        with open(disk, "wb") as file:
            file.write(DISK)
        rom = boot_rom.make(self.folder, image, device_id)
        self.command += ["-netdev", f"user,id=net,tftp={tftp},bootfile=first.ipxe"]
        self.command += ["-device", f"{device},romfile={rom},bootindex=0"]
        self.command += ["-drive", f"if=none,id=disk,format=raw,file={disk}"]
        self.command += ["-device", "ide-hd,drive=disk,bootindex=1"]


class IpxeEthernetTest(unittest.TestCase):
    def check_counters(self, machine, **expected):
        expected |= {"commands_failed": 0, "complaints": 0, "eqes_dropped": 0}
        self.assertEqual(expected, {name: machine.get(f"counter-{name}") for name in expected})

    def boot(self, release, variant):
        image = image_of(self, release)
        with Server() as server:
            script = FIRST % {"url": server.url} + BROKEN
            with open(image, "rb") as file:
                server.files["/kernel"] = file.read()
            server.files["/second.ipxe"] = (SECOND % {"url": server.url} + BROKEN).encode()
            device = f"mlx4,id=hca0,ports=1,variant={variant},link1=eth,netdev1=net,mac={MAC}"
            with FromRom(image, script, DEVICE_IDS[variant], device) as machine:
                # Three waits, since a busy host needs its time for each of the three.
                machine.wait_for(f"first {ADDRESS}")
                machine.wait_for(r"second\.ipxe\.\.\. ok")
                machine.wait_for("step 1")
                self.assertEqual(
                    [
                        "/kernel",
                        "/second.ipxe",
                        f"/ran/{CHIPS[variant]}/{MAC.replace(':', '-')}/{ADDRESS}",
                    ],
                    server.asked,
                )
                machine.press("a")
                machine.wait_for("step 2")
                # Of each iPXE, a look at the ports, and port 1 open and closed again.
                self.check_counters(
                    machine,
                    command_INIT_HCA=4,
                    command_CLOSE_HCA=4,
                    command_INIT_PORT=2,
                    command_CLOSE_PORT=2,
                )

    def test_ipxe_of_2019_boots_connectx2_from_its_rom(self):
        self.boot("bookworm", "connectx2")

    def test_ipxe_of_2025_boots_connectx2_from_its_rom(self):
        self.boot("trixie", "connectx2")

    def test_ipxe_of_2025_boots_connectx3_from_its_rom(self):
        self.boot("trixie", "connectx3")

    def test_ipxe_of_2025_boots_connectx3_pro_from_its_rom(self):
        self.boot("trixie", "connectx3-pro")

    def test_ipxe_uses_an_ethernet_port_beside_one_of_infiniband(self):
        with Server() as server, Ipxe(
            image_of(self, "trixie"),
            OF_PORT_2 % {"url": server.url} + BROKEN,
            "-netdev",
            "user,id=net",
            "-device",
            f"mlx4,id=hca0,link2=eth,netdev2=net,mac={MAC}",
        ) as machine:
            machine.wait_for("links IPoIB Ethernet", "step 1")
            # The address of port 2 is the next.
            self.assertEqual([f"/ran/mt4103/02-00-00-f0-ca-02/{ADDRESS}"], server.asked)
            machine.press("a")
            machine.wait_for("step 2")
            self.check_counters(machine, command_INIT_PORT=1, command_CLOSE_PORT=1)
