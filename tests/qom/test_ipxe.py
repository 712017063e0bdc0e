# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""iPXE's driver, which works on real cards, on the modelled adapter: Debian's images of 2019
(bookworm), which knows ConnectX-2 alone, and of 2025 (trixie), which knows all three variants.
FREEHCA_IPXE_BOOKWORM and FREEHCA_IPXE_TRIXIE name them (tests/qom/ipxe_image.sh)."""
import unittest

from ipxe import CHIPS, Ipxe, image_of

# One port after the other: iPXE has one queue pair for each multicast group, whichever port it is
# of (hermon.c hermon_mcast_attach), so the second could not join the broadcast group. A port that
# is open is looked at each second, until the key for the next step is pressed; that makes the
# prompt go.
SCRIPT = """
echo ready ${net0/chip} ${net1/chip}
prompt --key a step 0
echo begin 1
ifopen net0 || goto broken
:first
ibstat
ifstat net0
prompt --key b --timeout 1000 step 1 || goto first
echo begin 2
ifclose net0
ifstat net0
prompt --key c step 2
echo begin 3
ifopen net0 || goto broken
:second
ibstat
ifstat net0
prompt --key d --timeout 1000 step 3 || goto second
echo begin 4
ifclose net0
ifopen net1 || goto broken
:third
ibstat
ifstat net1
prompt --key e --timeout 1000 step 4 || goto third
echo begin 5
ifclose net1
ifstat
prompt --key f step 5
:broken
echo broken
prompt --key f
"""
GUID, LINK_LOCAL = 0x0002C903_00F0_CA00, 0xFE80_0000_0000_0000


def halves(number):
    return f"{number >> 32:08x}:{number & 0xFFFFFFFF:08x}"


def up(port):
    """What ibstat and ifstat say of a port that has its LID and has joined the broadcast group."""
    return (
        rf"{halves(GUID + port)} using \S+ on \S+ port {port} \(open\)\s+"
        rf"\[Link:up LID [1-9]\d* prefix {halves(LINK_LOCAL)}\]",
        rf"net{port - 1}: [^\[]*(\(open\)|\[open\])\s+\[Link:up, ",
    )


class IpxeTest(unittest.TestCase):
    def run_on(self, release, variant):
        with Ipxe(
            image_of(self, release), SCRIPT, "-device", f"mlx4,id=hca0,variant={variant}"
        ) as machine:
            chip = CHIPS[variant]
            machine.wait_for(f"ready {chip} {chip}", "step 0")
            # It has been up already, for a look at its ports, and was closed again.
            self.assertEqual(machine.get("counter-command_CLOSE_HCA"), 1)
            for step, (key, patterns) in enumerate(
                (
                    ("a", up(1)),
                    ("b", (r"net0: [^\[]*(\(closed\)|\[closed\])\s+\[Link:down",)),
                    ("c", up(1)),
                    ("d", up(2)),
                    (
                        "e",
                        (
                            r"net0: [^\[]*(\(closed\)|\[closed\])",
                            r"net1: [^\[]*(\(closed\)|\[closed\])",
                        ),
                    ),
                ),
                1,
            ):
                machine.press(key)
                machine.wait_for(f"step {step}", *patterns, after=f"begin {step}")
            counters = {
                name: machine.get(f"counter-{name}")
                for name in (
                    "command_INIT_HCA",
                    "command_CLOSE_HCA",
                    "command_INIT_PORT",
                    "command_CLOSE_PORT",
                    "commands_failed",
                    "complaints",
                    "eqes_dropped",
                )
            }
            self.assertEqual(
                counters,
                {
                    "command_INIT_HCA": 4,
                    "command_CLOSE_HCA": 4,
                    "command_INIT_PORT": 3,
                    "command_CLOSE_PORT": 3,
                    "commands_failed": 0,
                    "complaints": 0,
                    "eqes_dropped": 0,
                },
            )

    def test_ipxe_of_2019_on_connectx2(self):
        self.run_on("bookworm", "connectx2")

    def test_ipxe_of_2025_on_connectx2(self):
        self.run_on("trixie", "connectx2")

    def test_ipxe_of_2025_on_connectx3(self):
        self.run_on("trixie", "connectx3")

    def test_ipxe_of_2025_on_connectx3_pro(self):
        self.run_on("trixie", "connectx3-pro")
