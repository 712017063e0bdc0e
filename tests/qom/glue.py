# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""A guest, an administrator and a far end that do at random what reaches the glue between QEMU and
the model: cards are plugged and pulled, also by their own DMA and interrupt messages; backends come
and go; resets of every kind."""
import os
import random
import shutil
import tempfile
import time

import wire
from firmware import HCR, ICM, MSIX_CONTROL, NOP, OUTPUT, QUERY_FW, Firmware, swap
from machine import Machine
from test_hostile import post
from test_hotplug import slot_control

INIT_PORT, CLOSE_PORT = 0x009, 0x00A
SOFT_RESET, FLASH_SEMAPHORE, MSIX_TABLE = 0xF0010, 0xF03FC, 0x7C000
PMCSR, GATEWAY_ADDRESS, GATEWAY_DATA, DEVCTL = 0x44, 0x58, 0x5C, 0x68
BRIDGE_CONTROL, SECONDARY_RESET = 0x3C, 0x400000
FUNCTION_LEVEL_RESET = 0x8000
POWER_ON, ATTENTION_OFF, POWER_OFF = 0x100, 0x0C0, 0x700
MTT_OF_EQ = ICM + (9 << 16) + 8 * 64  # firmware.py: the tenth table that is lent
HUBPORTS = {"n1": 0, "n2": 0, "n3": 1, "n4": 1}
USER_NETWORK = "user"  # which InfiniBand ports do not take
FAULTS = {
    "x-fault-command-acceptance": (0, 1000, 1 << 40, -1),
    "x-fault-command-latency": (0, 1000, 1000000, 1 << 63),
    "x-fault-work-latency": (0, 1000, 1000000000),
    "x-fault-reset-latency": (0, 1000000, 1 << 62),
    "x-fault-time-seed": (0, 7),
    "x-fault-commands-side-by-side": (False, True),
    "x-fault-command": (
        "",
        "any:silent",
        "QUERY_FW:0x0b:2",
        "NOP:stuck",
        "INIT_PORT:silent",
        "any:7:3",
        "any",
        ":",
    ),
    "x-fault-event": ("", "any:lost", "any:twice", "command:lost:2", "no:way"),
    "x-fault-link1": (
        "",
        "loss:500000",
        "reordering:300000:duplication:300000",
        "corruption:9:seed:2",
        "loss",
    ),
    "x-fault-link2": ("", "loss:1000000", "duplication:1000000"),
    "x-fault-held-commands": (0, 1),
    "x-fault-removed": (False, True),
    "x-fault-catastrophic": (True, False),
    "cable1": (False, True),
    "cable2": (False, True),
    "strict": (False, True),
    "x-rules-off": ("", "nothing-of-the-kind"),
    "dump": ("qp:0x41", "eq:35", "cq:1000000", "mpt:0", "x"),
}


class Slot:
    """A root port, which stands at device `number` of bus 0, and the card that may be behind it."""

    def __init__(self, machine, number):
        self.machine, self.number, self.name = machine, number, f"hca{number}"
        self.port = machine.function(number)
        self.control = self.port.WINDOW + (number << 15) + slot_control(self.port)
        self.card = machine.function(0, bus=number)
        self.bar0, self.bar2 = 0xE0000000 + (number << 25), 0xE8000000 + (number << 25)
        self.firmware = Firmware(machine, self.bar0)

    def place(self):
        """The port's bus and its windows, of 32 MiB each."""
        self.port.write(0x18, self.number << 16 | self.number << 8)
        for at, base in ((0x20, self.bar0), (0x24, self.bar2)):
            self.port.write(at, (base >> 16) + 0x1F0 << 16 | base >> 16 | (at == 0x24) * 0x10001)
        self.port.write(0x04, 0x6, 2)

    def configuration(self, offset):
        """Where in memory the window has the card's configuration space."""
        return self.port.WINDOW + (self.number << 20) + offset

    def enable(self):
        self.card.enable(self.bar0, self.bar2)

    def bring_up(self):
        self.firmware = Firmware(self.machine, self.bar0)
        if self.firmware.last_word() == 0xFFFFFFFF:
            return  # nobody is there
        try:
            self.firmware.bring_up()
        except AssertionError:
            return  # faults that were asked for
        self.firmware.post(INIT_PORT, 0, 1)

    def pull(self):
        self.machine.write(self.control, POWER_OFF, 2)


class Play:
    """One machine and what a seed does with it. with Play("1/0") as play: play.act();
    play.expect_order()"""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.did, self.peer = [], None
        self.folder = tempfile.mkdtemp(prefix="freehca-glue-")
        self.path = os.path.join(self.folder, "wire")
        self.machine = Machine(
            "-global",
            "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
            *(
                word
                for n in (1, 2)
                for word in ("-device", f"pcie-root-port,id=port{n},slot={n},chassis={n},addr={n}")
            ),
            *(
                word
                for name, hub in HUBPORTS.items()
                for word in ("-netdev", f"hubport,id={name},hubid={hub}")
            ),
            "-netdev",
            f"stream,id=wire,server=on,addr.type=unix,addr.path={self.path}",
            "-netdev",
            f"user,id={USER_NETWORK}",
            "-d",
            "guest_errors",
            "-D",
            "/dev/null",
        )
        weighted = (
            (self.plug, 6),
            (self.unplug, 4),
            (self.change_property, 8),
            (self.look, 2),
            (self.set_link, 5),
            (self.change_backend, 3),
            (self.reset, 4),
            (self.configure, 3),
            (self.aim, 5),
            (self.command, 10),
            (self.command_into_registers, 5),
            (self.gateway, 3),
            (self.access, 6),
            (self.pass_time, 8),
            (self.far_end, 6),
            (self.monitor, 1),
            (self.set_up, 6),
        )
        self.actions = [action for action, weight in weighted for _ in range(weight)]

    def __enter__(self):
        self.machine.__enter__()
        self.connect()
        self.slots = [Slot(self.machine, number) for number in (1, 2)]
        self.slots[0].port.open_window()
        for slot in self.slots:
            slot.place()
            self.plug(slot)
        return self

    def __exit__(self, *_):
        self.hang_up()
        self.machine.__exit__()
        shutil.rmtree(self.folder, ignore_errors=True)
        return False

    def act(self):
        slot, action = self.dice.choice(self.slots), self.dice.choice(self.actions)
        # Seldom with a slot that is empty.
        if self.dice.random() < 0.8 and not self.is_there(slot):
            self.plug(slot)
        action(slot)
        self.machine.events.clear()

    def is_there(self, slot):
        return slot.name in {
            found["name"] for found in self.machine.qmp("qom-list", path="/machine/peripheral")
        }

    def note(self, *what):
        self.did.append(" ".join(str(word) for word in what))

    def ask(self, command, **arguments):
        """QMP that may be refused; never unanswered."""
        self.note(command, arguments)
        try:
            return self.machine.qmp(command, **arguments)
        except RuntimeError as refused:
            self.note("  refused:", refused)
            return None

    # ---- The administrator

    def plug(self, slot):
        dice, given = self.dice, {}
        for port in (1, 2):
            ethernet = dice.random() < 0.3
            if ethernet:
                given[f"link{port}"] = "eth"
            if dice.random() < 0.6:
                # The two ports of a card lead to the same two hubs as those of the other, or one to
                # this program.
                own = [f"n{slot.number + 2 * hub}" for hub in (0, 1)]
                given[f"netdev{port}"] = dice.choice(
                    (*own, own[port - 1], own[port - 1], "wire", "wire")
                    + (USER_NETWORK,) * (2 if ethernet else 0)
                )
            if dice.random() < 0.1:
                given[f"capture{port}"] = dice.choice(
                    (os.path.join(self.folder, f"c{port}"), "/dev/full")
                )
        for name, values in (
            ("variant", ("connectx2", "connectx3", "connectx3-pro")),
            ("ports", (1, 2)),
            ("flr", (False, True)),
            ("sm", (False, True)),
            ("max-commands", (1, 4, 128)),
            ("link2", ("ib", "eth", USER_NETWORK)),
            ("bootindex", (1, -1, -2)),
            ("host-memory-limit", (32 << 20, 1)),
            ("x-record", (os.path.join(self.folder, "r"), "/dev/full")),
            ("x-fault-reset-latency", (1000000,)),
            ("x-fault-command", ("any:silent", "no")),
            ("cable1", (False,)),
            ("bar2-size", (8 << 20, 128 << 20, 3)),
        ):
            if dice.random() < 0.05:
                given[name] = dice.choice(values)
        self.machine.write(slot.control, POWER_ON, 2)
        added = self.ask(
            "device_add", driver="mlx4", id=slot.name, bus=f"port{slot.number}", **given
        )
        slot.place()
        slot.enable()
        if added is not None and dice.random() < 0.7:
            slot.bring_up()

    def unplug(self, slot):
        if self.dice.random() < 0.8:
            self.ask("device_del", id=slot.name)
        if self.dice.random() < 0.8:
            self.note("power off", slot.number)
            slot.pull()

    def change_property(self, slot):
        name = self.dice.choice(list(FAULTS))
        self.ask(
            "qom-set",
            path=f"/machine/peripheral/{slot.name}",
            property=name,
            value=self.dice.choice(FAULTS[name]),
        )

    def look(self, slot):
        path = f"/machine/peripheral/{slot.name}"
        for found in self.ask("qom-list", path=path) or ():
            if found["name"].startswith(
                ("counter", "x-", "dump", "explanations", "cable", "strict")
            ):
                self.ask("qom-get", path=path, property=found["name"])
        self.ask("query-rx-filter")

    def set_link(self, _):
        name = self.dice.choice(
            (*HUBPORTS, "wire", USER_NETWORK, "hca1.1", "hca1.2", "hca2.1", "hca2.2")
        )
        self.ask("set_link", name=name, up=self.dice.random() < 0.6)

    def change_backend(self, _):
        name = self.dice.choice((*HUBPORTS, "wire", USER_NETWORK))
        if self.dice.random() < 0.5:
            self.ask("netdev_del", id=name)
        elif name == "wire":
            if (
                self.ask(
                    "netdev_add",
                    type="stream",
                    id=name,
                    server=True,
                    addr={"type": "unix", "path": self.path},
                )
                is not None
            ):
                self.connect()
        elif name == USER_NETWORK:
            self.ask("netdev_add", type="user", id=name)
        else:
            self.ask("netdev_add", type="hubport", id=name, hubid=HUBPORTS[name])

    def connect(self):
        """QEMU's stream backend begins to listen in a thread, and crashes when it is deleted before
        that (QEMU 7.2, net/stream.c: net_stream_cleanup() does not end what
        qio_channel_socket_listen_async() began). Who has been accepted knows that it is done."""
        self.hang_up()
        deadline = time.monotonic() + 30
        while self.peer is None:
            try:
                self.peer = wire.Peer(self.path)
            except OSError:
                assert time.monotonic() < deadline, "the stream backend does not begin to listen"
                time.sleep(0.001)
        self.machine.wait_event("NETDEV_STREAM_CONNECTED")

    def hang_up(self):
        if self.peer:
            self.peer.close()
            self.peer = None

    def monitor(self, _):
        self.ask(
            "human-monitor-command",
            **{
                "command-line": self.dice.choice(
                    ("info qtree", "info network", "info pci", "info mtree -f", "stop", "cont")
                )
            },
        )
        self.ask("cont")

    # ---- The guest

    def reset(self, slot):
        kind = self.dice.randrange(5)
        self.note("reset", kind, slot.number)
        if kind == 0:
            self.ask("system_reset")
            self.machine.wait_event("RESET")
            slot.port.open_window()
        elif kind == 1:
            self.machine.write(slot.bar0 + SOFT_RESET, swap(1))
        elif kind == 2:
            slot.card.write(DEVCTL, FUNCTION_LEVEL_RESET, 2)
        elif kind == 3:
            slot.port.write(BRIDGE_CONTROL, SECONDARY_RESET)
            slot.port.write(BRIDGE_CONTROL, 0)
        else:
            slot.card.write(PMCSR, 3, 2)
            if self.dice.random() < 0.7:
                slot.card.write(PMCSR, 0, 2)
        if self.dice.random() < 0.8:
            for each in self.slots:
                each.place()
            slot.enable()

    def set_up(self, slot):
        self.note("set up", slot.number)
        slot.place()
        slot.enable()
        slot.bring_up()

    def configure(self, slot):
        at, value, size = self.dice.choice(
            (
                (0x04, self.dice.randrange(8), 2),
                (MSIX_CONTROL, self.dice.choice((0, 0x8000, 0xC000)), 2),
                (0x10, self.dice.choice((0, slot.bar0, slot.bar2, slot.port.WINDOW, 0x200000)), 4),
                (self.dice.randrange(0x28, 0x100) & ~3, self.dice.randrange(1 << 32), 4),
            )
        )
        self.note("configure", slot.number, hex(at), hex(value))
        slot.card.write(at, value, size)
        if self.dice.random() < 0.7:
            slot.enable()

    def revive(self, slot):
        """Mostly, so that what follows has something to work with."""
        if self.dice.random() < 0.6:
            self.machine.write(slot.bar0 + SOFT_RESET, swap(1))
            self.set_up(slot)

    def mischief(self):
        """An address and a word: what a card's write there does concerns this card or the other."""
        of = self.dice.choice(self.slots)
        control = of.control & ~3
        return self.dice.choice(
            (
                (control, POWER_OFF),
                (control, POWER_OFF),
                (control, POWER_ON | ATTENTION_OFF),
                (of.port.WINDOW + (of.number << 15) + BRIDGE_CONTROL, SECONDARY_RESET),
                (of.configuration(DEVCTL), FUNCTION_LEVEL_RESET),
                (of.configuration(PMCSR), 3),
                (of.configuration(0x04), 0),
                (of.configuration(GATEWAY_DATA), 1),
                (of.configuration(MSIX_CONTROL & ~3), 0x80000000),
                (of.bar0 + SOFT_RESET, swap(1)),
                (of.bar0 + HCR + 24, swap(1 << 23 | NOP)),
                (of.bar0 + FLASH_SEMAPHORE, 0),
                (of.bar2 + 0x8000 + 0x14, 1 << 8),
                (OUTPUT, 0),
            )
        )

    def aim(self, slot):
        """The card's interrupt message, and something that makes it send one."""
        self.revive(slot)
        address, data = self.mischief()
        self.note("aim", slot.number, hex(address), hex(data))
        slot.firmware.aim(slot.card, address, data)
        kind = self.dice.randrange(4)
        if kind == 0:
            self.ask(
                "qom-set",
                path=f"/machine/peripheral/{slot.name}",
                property="x-fault-catastrophic",
                value=True,
            )
        elif kind == 1:
            self.set_link(slot)
        else:
            slot.firmware.post(NOP, token=7, event=True)

    def command(self, slot):
        self.note("command", slot.number)
        kind = self.dice.randrange(4)
        if kind == 0:
            post(self.machine, slot.card, self.dice, slot.bar0)
        elif kind == 1:
            slot.firmware.post(
                self.dice.choice((INIT_PORT, CLOSE_PORT)), 0, self.dice.choice((1, 2))
            )
        else:
            slot.firmware.post(
                self.dice.choice((NOP, QUERY_FW)),
                output=OUTPUT,
                token=1,
                event=self.dice.random() < 0.5,
            )

    def command_into_registers(self, slot):
        """The card's DMA reaches registers: by a mailbox, or by an event queue that stands
        there."""
        self.revive(slot)
        address, _ = self.mischief()
        self.note("DMA", slot.number, hex(address))
        kind = self.dice.randrange(3)
        if kind == 0:
            slot.firmware.post(QUERY_FW, output=address & ~0xFFF)
        elif kind == 1:
            slot.firmware.post(QUERY_FW, output=address & ~0xF)
        else:
            self.machine.write_bytes(MTT_OF_EQ, (address & ~0xFFF | 1).to_bytes(8, "big"))
            slot.firmware.post(NOP, token=7, event=True)

    def gateway(self, slot):
        at, value = self.dice.choice(
            (
                (SOFT_RESET, swap(1)),
                (HCR + 24, 1 << 23 | NOP),
                (MSIX_TABLE, 0xFEE00000),
                (self.dice.randrange(1 << 20) & ~3, self.dice.randrange(1 << 32)),
            )
        )
        self.note("gateway", slot.number, hex(at), hex(value))
        slot.card.write(GATEWAY_ADDRESS, at)
        slot.card.write(GATEWAY_DATA, value)
        slot.card.read(GATEWAY_DATA)

    def access(self, slot):
        size = self.dice.choice((1, 2, 4, 4, 8))
        bar, bytes_ = self.dice.choice(
            ((slot.bar0, 1 << 20), (slot.bar2, 8 << 20), (slot.bar0 + MSIX_TABLE, 0x1800))
        )
        at = bar + self.dice.randrange(bytes_) // size * size
        value = self.dice.choice((0, 1, self.dice.randrange(1 << 32))) & ((1 << 8 * size) - 1)
        self.note("access", hex(at), hex(value), size)
        if self.dice.random() < 0.3:
            self.machine.read(at, size)
        else:
            self.machine.write(at, value, size)

    def pass_time(self, _):
        nanoseconds = self.dice.choice((1, 1000, 1000000, 20000000, 600000000, 2000000000))
        self.note("time", nanoseconds)
        self.machine.step_clock(nanoseconds)

    # ---- The far end

    def far_end(self, _):
        """Comes, trains, asks, talks nonsense, goes in the midst of a packet."""
        dice = self.dice
        self.note("far end")
        try:
            if self.peer is None:
                self.peer = wire.Peer(self.path)
            while self.peer.receive(0):
                pass
            for _ in range(dice.randrange(1, 12)):
                kind = dice.randrange(8)
                if kind < 4:
                    self.peer.send(
                        wire.link_packet(
                            dice.choice(
                                (
                                    wire.TRAINING_1,
                                    wire.TRAINING_2,
                                    wire.NO_SIGNAL,
                                    wire.FLOW_CONTROL_INIT,
                                    dice.randrange(16),
                                )
                            )
                        ),
                        1,
                    )
                elif kind < 6:
                    self.peer.send(
                        wire.directed_request(wire.NODE_INFO, dice.randrange(1 << 64)), 1
                    )
                elif kind < 7:
                    self.peer.send(dice.randbytes(dice.randrange(1, 5000)), 1)
                else:
                    self.machine.step_clock(1000000)
            if dice.random() < 0.1:
                self.peer.socket.sendall(b"\0\0\1\0half")
                raise ConnectionError
        except (OSError, ValueError):
            # The backend was deleted, or has another connection. QEMU itself answers on other
            # lines.
            self.hang_up()

    # ---- What must hold

    def expect_order(self):
        """Both cards go, a new one comes and works; QEMU ends by itself when asked to."""
        self.note("order")
        self.machine.qmp("system_reset")
        self.machine.wait_event("RESET")
        self.slots[0].port.open_window()
        for slot in self.slots:
            slot.place()
            self.ask("device_del", id=slot.name)
            slot.pull()
        self.machine.step_clock(2000000000)
        left = {found["name"] for found in self.machine.qmp("qom-list", path="/machine/peripheral")}
        assert not left & {"hca1", "hca2"}, f"a card that was pulled is still there: {left}"
        for slot in self.slots:
            slot.place()
            self.machine.write(slot.control, POWER_ON, 2)
            self.machine.qmp("device_add", driver="mlx4", id=slot.name, bus=f"port{slot.number}")
            slot.enable()
            firmware = Firmware(self.machine, slot.bar0)
            firmware.bring_up()
            assert firmware.command(QUERY_FW, output=OUTPUT) == 0, "QUERY_FW fails on a new card"
            assert (
                self.machine.get("counter-complaints", slot.name) == 0
            ), "complaints of a new card"
        self.machine.qmp("quit")
        status = self.machine.process.wait(60)
        assert status == 0, f"QEMU ended with status {status}"
