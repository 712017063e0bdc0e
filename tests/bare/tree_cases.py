# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Machines that tell by a device tree what they have: what an image makes of trees that are wrong,
and of the ways to be started. bare_test.py mixes these into the first machine of such an
architecture."""
import os
import pathlib
import struct
import subprocess
import tempfile

import cases
import machines

PCI = "looking for the PCI host bridge"


class Trees(cases.Cases):
    """host_bridge: base and size of configuration space, as they stand in the tree. blueflame: what
    an image says of it."""

    host_bridge = blueflame = None

    def own_tree(self):
        """The machine's."""
        with tempfile.TemporaryDirectory(prefix="freehca-bare-") as folder:
            path = pathlib.Path(folder, "tree")
            dump = f"{self.kind.machine},dumpdtb={path}"
            command = [self.qemu, *machines.COMMON, "-M", dump, *self.kind.arguments[2:]]
            subprocess.run(command, check=True, timeout=60, capture_output=True)
            return path.read_bytes()

    def tree_file(self, tree):
        folder = tempfile.TemporaryDirectory(prefix="freehca-bare-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "tree")
        path.write_bytes(tree)
        return "-dtb", str(path)

    def changed_tree(self, before, after):
        """The machine's own tree, where `after` stands in place of `before`. QEMU leaves much room
        behind it, and more behind one that it is given: that goes first."""
        tree = self.own_tree()
        self.assertEqual(tree.count(before), 1)
        self.assertEqual(len(before), len(after))
        strings_at, strings_bytes = (struct.unpack_from(">I", tree, at)[0] for at in (12, 32))
        size = strings_at + strings_bytes
        tree = tree[:4] + struct.pack(">I", size) + tree[8:size]
        return self.tree_file(tree.replace(before, after))

    def test_a_tree_without_a_host_bridge(self):
        tree = self.changed_tree(b"pci-host-ecam-generic", b"pci-host-of-the-maker")
        self.boot_and_fail(PCI, "has none with generic", "find_pci", *tree, quiet=False)

    def test_an_access_to_nowhere_is_told(self):
        nowhere = b"\0\0\0\x70" + self.host_bridge[4:]
        tree = self.changed_tree(self.host_bridge, nowhere)
        run = self.boot("bringup", *tree)
        self.said(
            "^EXCEPTION +a fault: .*, at 0x[48]0[0-9a-f]{6}, address 0x70", "^remedy.*addr2line"
        )
        self.said("^bringup: failed$")
        self.assertEqual(run.status, 1)

    def test_blueflame_is_used_where_writes_combine(self):
        self.boot_and_pass("bringup")
        self.said(f"^PCI +15b3:1007, {self.blueflame}$")

    def test_no_words_are_lost(self):
        """More than there is room for is cut off, and does no harm."""
        self.boot_and_pass("bringup", words="a " * 400)


class Aarch64(Trees):
    host_bridge = bytes.fromhex("00000040 10000000 00000000 10000000")
    blueflame = "BlueFlame is write-combining"

    def test_a_host_bridge_that_is_not_coherent(self):
        tree = self.changed_tree(b"\0dma-coherent\0", b"\0dma-unspoken\0")
        self.boot_and_fail(PCI, "do not agree", "dma-coherent", *tree, quiet=False)

    def test_no_controller_for_messages(self):
        tree = self.changed_tree(b"arm,gic-v2m-frame", b"arm,gic-v2m-other")
        self.boot_and_pass("bringup", *tree, *machines.ADAPTER)
        self.said("no interrupt came .none: the GICv2 has no frame", "0 interrupts")

    def test_no_tree(self):
        """QEMU leaves one away that does not fit below the image."""
        self.boot_and_fail(
            "reading the device tree",
            "handed none over",
            "boot by Linux's protocol",
            *self.tree_file(self.own_tree()),
            quiet=False,
        )

    def test_started_as_linux_is(self):
        """A file that is no ELF is started by Linux's protocol."""
        with tempfile.TemporaryDirectory(prefix="freehca-bare-") as folder:
            raw = os.path.join(folder, "image")
            elf = machines.image_file(self.kind.architecture, "bringup")
            subprocess.run(["aarch64-linux-gnu-objcopy", "-O", "binary", elf, raw], check=True)
            self.boot("bringup", file=raw, words="assign")
        self.said("^freehca bringup on aarch64", "^bringup: passed$")
        self.assertTrue(self.last.passed)

    def test_started_at_the_firmwares_level(self):
        self.boot_and_fail(
            "starting the machine",
            "exception level 3",
            "Trusted Firmware",
            "-machine",
            "secure=on",
            quiet=False,
        )

    def test_ends_without_a_debugger(self):
        """QEMU's caller gets no status then. On the host's clock: with -icount, QEMU warns of a
        processor that waits for an interrupt while no timer is armed, as this one does at last."""
        without = ("-semihosting-config", "enable=off")
        run = self.boot("bringup", *without, *machines.ADAPTER, hosts_clock=True)
        self.said("^bringup: passed$")
        self.assertEqual(run.status, 0)


class Riscv64(Trees):
    host_bridge = bytes.fromhex("00000000 30000000 00000000 10000000")
    blueflame = "no BlueFlame"

    def test_a_tree_without_memory_for_the_image(self):
        """Where QEMU adds none of its own to a tree that it is given."""
        tree = self.changed_tree(b"memory\0", b"nothin\0")
        self.boot_and_fail(
            "reading the device tree", "no memory where the image", "link", *tree, quiet=False
        )


class Incoherent(Trees):
    """The image cleans and invalidates its cache. QEMU has none, so that this shows no more than
    that it may."""

    host_bridge, blueflame = Aarch64.host_bridge, Aarch64.blueflame

    def test_a_host_bridge_that_is_not_coherent(self):
        tree = self.changed_tree(b"\0dma-coherent\0", b"\0dma-unspoken\0")
        for image in ("bringup", "pingpong"):
            self.boot_and_pass(image, *tree, *machines.ADAPTER)


OF = {"aarch64-incoherent": (Incoherent,), "aarch64": (Aarch64,), "riscv64": (Riscv64,)}
