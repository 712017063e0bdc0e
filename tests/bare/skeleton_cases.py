# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The skeleton of a port, filled in stage by stage as docs/porting.md says, for QEMU's machine virt
as if nothing handed its device tree over. What each stage shows stands on that page."""
import pathlib
import re
import shutil
import subprocess

import cases
import machines

ARCHITECTURE = "aarch64-skeleton"
PCI = "looking for the PCI host bridge"
# QEMU 7.2 hw/arm/virt.c, base_memmap and extended_memmap.
MEMORY = "{0x4000'0000, 0x1000'0000}"
ECAM = "{0x40'1000'0000, 0x1000'0000}"
BAR_ADDRESSES = "{0x1000'0000, 0x2eff'0000}"
GIC = "{gic_registers::version::v2, {0x800'0000, 0x1'0000}, {0x801'0000, 0x1'0000}, {}, {0x802'0000, 0x1000}}"


class Board:
    """A copy of the skeleton or of another board, and the images for it."""

    def __init__(self, architecture=ARCHITECTURE):
        self.preset = f"bare-{architecture}"
        self.build_folder = machines.ROOT / f"build/{self.preset}-stages"
        self.folder = self.build_folder / "board"
        # Compiled as the board's own images are, so the compiler cache has all but the board.
        cache = machines.ROOT / f"build/{self.preset}/CMakeCache.txt"
        few = re.search(r"^FREEHCA_FEW_FILES:\w+=(.*)$", cache.read_text(encoding="utf-8"), re.M)
        self.options = (f"-DFREEHCA_BOARD={self.folder}", f"-DFREEHCA_FEW_FILES={few[1]}")
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(machines.ROOT / "hal/targets/boards" / architecture, self.folder)

    def set(self, **constants):
        path = self.folder / "constants.hpp"
        text = path.read_text(encoding="utf-8")
        for name, value in constants.items():
            text, count = re.subn(rf"(\b{name} = )[^;]*;", lambda m, v=value: m[1] + v + ";", text)
            if count != 1:
                raise ValueError(f"{name} stands {count} times in {path}")
        path.write_text(text, encoding="utf-8")

    def load_at(self, address):
        path = self.folder / "board.cmake"
        text, count = re.subn(
            r"^(set\(load_address ).*$", rf"\g<1>{address})", path.read_text(), flags=re.M
        )
        if count != 1:
            raise ValueError(f"load_address stands {count} times in {path}")
        path.write_text(text, encoding="utf-8")

    def build(self, image) -> pathlib.Path:
        for command in (
            ("--preset", self.preset, "-B", self.build_folder, *self.options),
            ("--build", self.build_folder, "--target", f"freehca_{image}"),
        ):
            done = subprocess.run(
                ["nice", "cmake", *command],
                cwd=machines.ROOT,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise RuntimeError(done.stdout[-3000:] + done.stderr[-3000:])
        return self.build_folder / f"images/{image}.elf"


class Skeleton(cases.Cases):
    """On the machine whose serial line the skeleton has."""

    def fails(self, board, step, what, quiet=False):
        file = board.build("bringup")
        self.boot_and_fail(step, what, "", file=file, quiet=quiet)

    def test_it_says_what_is_missing(self):
        self.boot_and_fail(
            "reading the board's constants", "memory is not known", "stage 3", quiet=False
        )
        self.said("^freehca bringup on aarch64$", "^FAILED")

    def test_stage_by_stage(self):
        board = Board()
        board.set(memory="{0x8000'0000, 0x1000'0000}")
        self.fails(board, "reading the board's constants", "does not lie in memory")
        board.set(memory=MEMORY)
        self.fails(board, PCI, "ecam is not known")
        self.said("^clock +generic timer .* CNTFRQ_EL0 tells$", "^FAILED")
        board.set(ecam=ECAM, timer_rate="62'500'000")
        self.fails(board, PCI, "devices_see_caches is not known")
        self.said("^clock +generic timer .* the board's constants tell$")
        board.set(devices_see_caches="answer::no")
        self.fails(board, PCI, "do not agree")
        board.set(devices_see_caches="answer::yes")
        bars = "giving addresses to the adapter's BARs"
        self.fails(board, bars, "no memory window", quiet=True)
        board.set(bar_addresses=BAR_ADDRESSES)
        self.boot_and_pass("bringup", file=board.build("bringup"))
        self.said("^step .*QUERY_FW$", "^WARNING +at command completion by events: .*of neither")
        board.set(gic=GIC)
        self.boot_and_pass("bringup", file=board.build("bringup"))
        self.said("^step .*QUERY_FW$", "completion by interrupt$")
        self.boot_and_pass("pingpong", file=board.build("pingpong"))

    def test_an_address_that_no_loader_can_hold_is_not_linked_for(self):
        board = Board()
        board.load_at("0x40280000")
        with self.assertRaisesRegex(RuntimeError, "load_address is no multiple of 0x200000"):
            board.build("bringup")
        board.load_at("0x40200000")
        board.build("bringup")

    def test_words_as_constants(self):
        board = Board()
        board.set(memory=MEMORY, ecam=ECAM, devices_see_caches="answer::yes")
        board.set(bar_addresses=BAR_ADDRESSES, command_line='"x-fault-window"')
        self.fails(board, "giving addresses to the adapter's BARs", "no memory window", quiet=True)


OF = {ARCHITECTURE: (Skeleton,)}
