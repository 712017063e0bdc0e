# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""QEMU machines that boot iPXE. What iPXE says is read from the memory of its text screen; its script
stops at prompts until a key is pressed through QMP."""
import os
import re
import time

from machine import Machine

COLUMNS, ROWS, SCREEN = 80, 25, 0xB8000
# A machine that has not come there after so long never will: on an idle machine each wait takes
# some seconds.
WAIT_SECONDS = 90
# What iPXE calls the variants.
CHIPS = {"connectx2": "mt26428", "connectx3": "mt4099", "connectx3-pro": "mt4103"}


def image_of(test, release):
    """The path of the iPXE that the release of Debian ships; the test fails when there is none."""
    variable = f"FREEHCA_IPXE_{release.upper()}"
    test.assertTrue(
        os.environ.get(variable),
        f"{variable} must name what tests/qom/ipxe_image.sh {release} prints",
    )
    return os.environ[variable]


class WithScreen(Machine):
    """A machine whose processor runs what the arguments have it boot."""

    def __init__(self, *arguments):
        super().__init__("-vga", "std", *arguments)
        # A processor in place of the test: nothing is asked for through qtest.
        self.command[self.command.index("qtest")] = "tcg"

    def screen(self):
        """The text on the screen, with lines that go on in the next row joined."""
        path = os.path.join(self.folder, "screen")
        self.qmp("pmemsave", val=SCREEN, size=COLUMNS * ROWS * 2, filename=path)
        with open(path, "rb") as file:
            # Every other byte is a colour.
            text = file.read()[::2].replace(b"\0", b" ").decode("cp437")
        rows = [text[at : at + COLUMNS] for at in range(0, len(text), COLUMNS)]
        return "".join(row if row[-1] != " " else row.rstrip() + "\n" for row in rows).rstrip()

    def wait_for(self, *patterns, after=""):
        """Waits until all patterns match what the screen has after the last `after`, or all of it
        when that has been scrolled away; the text. AssertionError, with the screen, when that does
        not happen, or when it has a line that begins with "broken"."""
        text, end = "", time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            text = self.screen()
            new = text.rsplit(after, 1)[-1] if after else text
            if all(re.search(pattern, new) for pattern in patterns):
                return new
            if re.search("^broken", text, re.MULTILINE):
                break
            time.sleep(0.1)
        raise AssertionError(f"no {patterns} on the screen:\n{text}")

    def press(self, key):
        self.qmp("send-key", keys=[{"type": "qcode", "data": key}])


class Ipxe(WithScreen):
    """with Ipxe(image, script, "-device", "mlx4,id=hca0") as machine: ..."""

    def __init__(self, image, script, *arguments):
        super().__init__("-kernel", image, *arguments)
        path = os.path.join(self.folder, "script.ipxe")
        with open(path, "w", encoding="ascii") as file:
            file.write("#!ipxe\n" + script)
        self.command += ["-initrd", path]
