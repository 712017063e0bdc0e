# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What images without an operating system do on a machine, and what they say when they cannot. Each
kind of machine inherits these cases: bare_test.py makes the classes."""
import re
import subprocess
import tempfile

import machines

STEPS = (
    "taking ownership",
    "reset",
    "QUERY_FW",
    "MAP_FA",
    "QUERY_DEV_CAP",
    "MAP_ICM_AUX",
    "INIT_HCA",
    "creating event queues",
    "command completion by events",
    "waiting for the ports",
)
# What a line of an image may have; one that is as long as this was cut off, mostly.
MOST_CHARACTERS = 240
# Four million instructions a second: a minute of polling takes a second or two here.
WAITING = 8
QUIET = "quiet +the adapter reaches no memory any more: bus mastering is off"


class Cases:
    """Mixed into a TestCase, which sets kind and qemu."""

    kind = qemu = None

    def boot(
        self, image, *arguments, at_line=None, file=None, complaints="", hosts_clock=False, **more
    ):
        """The image, or another `file` that has it. `complaints`: a pattern of all that the model
        says of it. `hosts_clock`: the machine's clock is the host's, as it is with `at_line`. The
        virtual clock spends little processor time on the 1.5 s that a bring-up waits."""
        file = file or machines.image_file(self.kind.architecture, image)
        if not hosts_clock and at_line is None:
            more["icount_shift"] = WAITING
        run = machines.Run(self.kind, self.qemu, file, arguments or machines.ADAPTER, **more)
        run.run(at_line)
        self.last = run
        # The model complains of what a real card would have to suffer silently.
        self.assertNotIn("complaint", run.errors)
        self.assertRegex(run.errors, f"^(?:{complaints})$")
        for line in run.lines:
            self.assertLess(len(line), MOST_CHARACTERS)
        return run

    def said(self, *patterns):
        """All of them, in this order; the match of the last one."""
        lines = iter(self.last.lines)
        for pattern in patterns:
            for line in lines:
                found = re.search(pattern, line)
                if found:
                    break
            else:
                self.fail(f"nothing like {pattern!r} in its place:\n" + "\n".join(self.last.lines))
        return found

    def rows(self):
        """What the image told of rows of conformance, line by line."""
        return "".join(f"{x}\n" for x in self.last.lines if re.match("[a-z-]+/", x))

    def boot_and_pass(self, image, *arguments, **more):
        run = self.boot(image, *arguments, **more)
        self.said(f"^{image}: passed$")
        self.assertTrue(run.passed, f"{run.status}, {run.errors}")
        self.said(QUIET)

    def boot_and_fail(self, step, what, remedy, *arguments, quiet=True, **more):
        run = self.boot("bringup", *arguments, **more)
        self.assertFalse(run.passed)
        self.assertGreater(run.status, 0, "it had to be killed")
        self.said(rf"^FAILED +at {step}: .*{what}", rf"^remedy +.*{remedy}", "^bringup: failed$")
        if quiet:
            self.said(QUIET)


class Passing(Cases):
    """On every machine."""

    def test_bringup(self):
        self.boot_and_pass("bringup", hosts_clock=True)
        self.said(*(rf"^step +[0-9.]+ s  {step}$" for step in STEPS), "^up +in [0-9.]+ s")
        self.said(r"^firmware +2\.42\.5700, board MT_1090120019", "^limits +2 ports", "^port 1 ")
        self.said(
            "^port 1 +InfiniBand, Active", "^port 2 +InfiniBand, Active", "^context +memory qpc"
        )
        if self.kind.interrupts:
            self.said("completion by interrupt$")
        else:
            self.said("^WARNING +at command completion by events: no interrupt came .none: ")
        interrupts = int(self.said(r"100 commands by events in [0-9.]+ s, (\d+) interr").group(1))
        # An answer may be seen before its interrupt comes, which the next answer's is then as well.
        self.assertTrue(50 <= interrupts <= 100 if self.kind.interrupts else interrupts == 0)
        self.said("error buffer: no internal error", "^down +ok$")

    def test_the_clock_goes_as_fast_as_the_hosts(self):
        """Bring-up takes a second at least, in which the adapter is reset. The machine may be slow,
        and this program late: only a clock that is wrong by a factor is seen."""
        run = self.boot("bringup", hosts_clock=True)
        told = float(self.said(r"^up +in ([0-9.]+) s, ").group(1))
        end = next(n for n, line in enumerate(run.lines) if line.startswith("up "))
        begin = max(n for n, line in enumerate(run.lines[:end]) if " BAR 2 at " in line)
        elapsed = run.times[end] - run.times[begin]
        print(f"  {told:.3f} s by its own clock, {elapsed:.3f} s by the host's", end=" ")
        self.assertTrue(0.1 < told / elapsed < 10, f"{told} s and {elapsed} s")

    def test_bringup_behind_a_root_port(self):
        self.boot_and_pass("bringup", *self.kind.adapter_behind_a_port)
        self.said("^adapter +0[1-9]:00.0, behind 1 bridges")

    def test_stacks_are_measured(self):
        self.boot_and_pass("bringup")
        for stack in ("main", "interrupts"):
            used, size = map(int, self.said(rf"^stack +{stack}: (\d+) of (\d+) bytes").groups())
            self.assertLess(used, size)
            if stack == "main" or self.kind.interrupts:
                self.assertGreater(used, 0)

    def test_addresses_from_the_image(self):
        self.boot_and_pass("bringup", *self.kind.adapter_behind_a_port, words="assign")
        self.said("behind 1 bridges, addresses from this program")

    def test_pingpong(self):
        self.boot_and_pass("pingpong", hosts_clock=True)
        self.said("^up +in [0-9.]+ s, Active [0-9.]+ s after the reset began$")
        for service, sizes in (("RC", (1, 64, 1024, 65535)), ("UD", (1, 64, 1024, 4096))):
            for size in sizes:
                self.said(f"^{service} +100 messages of {size} bytes verified, [0-9.]+ s for each")
        self.said("^down +ok$", "^image +", "^stack +main")

    def test_conform(self):
        """Row for row as on the model in one process, and over VFIO."""
        self.boot_and_pass("conform", hosts_clock=True)
        self.assertEqual(self.rows(), (machines.ROOT / "tests/conformance/rows.txt").read_text())
        self.said("^conform +[0-9]+ rows of [0-9]+: [0-9]+ as expected, 0 differ, ", "^down +ok$")

    def test_a_strict_adapter_takes_it(self):
        for image in ("bringup", "pingpong", "conform"):
            self.boot_and_pass(image, "-device", "mlx4,strict=on")

    def test_pingpong_behind_a_root_port(self):
        self.boot_and_pass("pingpong", *self.kind.adapter_behind_a_port)


class Failing(Cases):
    """On one machine of each architecture, with what need not be tried on each."""

    def test_every_variant(self):
        for variant, firmware in (("connectx2", r"2\.9\.1000"), ("connectx3", r"2\.")):
            for image in ("bringup", "pingpong", "conform"):
                self.boot_and_pass(image, "-device", f"mlx4,variant={variant}")
                if image == "bringup":
                    self.said(rf"^firmware +{firmware}")

    def test_no_device(self):
        self.boot_and_fail(
            "looking for the adapter", "no such adapter", "reseat", "-nodefaults", quiet=False
        )

    def test_adapters_of_other_generations(self):
        """A ConnectX-4 and an InfiniHost: nothing is done to them, as the recording shows."""
        for identity in (0x1013, 0x6278):
            with tempfile.NamedTemporaryFile(prefix="freehca-bare-") as record:
                self.boot_and_fail(
                    "looking for the adapter",
                    "of another generation: it is no ConnectX-2 or ConnectX-3",
                    "another one .Linux: ib_mthca, or mlx5_core for ConnectX-4",
                    "-device",
                    f"mlx4,x-device-id={identity},x-record={record.name}",
                    quiet=False,
                )
                done = record.read().decode()
            self.assertIn('"freehca_recording"', done)
            self.assertNotRegex(done, '"call":"(read|write)_bar|"bus_master":(true|1)')

    def test_firmware_of_another_age(self):
        for revision in (2, 4):
            self.boot_and_fail(
                "QUERY_FW",
                "not supported",
                "command interface must have revision 3: burn another",
                "-device",
                f"mlx4,x-command-interface={revision}",
            )

    def test_no_memory_window(self):
        self.boot_and_fail(
            "giving addresses to the adapter's BARs",
            "no memory window",
            "which addresses",
            words="x-fault-window",
        )

    def test_bars_that_do_not_fit(self):
        self.boot_and_fail(
            "giving addresses to the adapter's BARs",
            "do not fit",
            "larger one",
            words="x-fault-narrow",
        )

    def test_interrupts_that_never_come(self):
        self.boot_and_pass("bringup", words="x-fault-message")
        self.said(
            "^WARNING +at command completion by events: no interrupt came.*polled; look at MSI-X"
        )
        self.said("100 commands by events in [0-9.]+ s, 0 interrupts")

    def test_events_that_never_come(self):
        self.boot_and_fail(
            "command completion by events",
            "no answer in time at NOP",
            "event did not come",
            "-device",
            "mlx4,x-fault-event=command:lost",
        )

    def test_no_access_to_memory(self):
        self.boot_and_fail(
            "QUERY_FW",
            "not supported",
            "does not reach memory.*IOMMU",
            words="x-fault-dma",
            complaints=r"[^\n]*QUERY_FW: output mailbox [^\n]* cannot be written[^\n]*\n",
        )

    def test_link_down(self):
        self.boot_and_fail(
            "waiting for the ports",
            "no InfiniBand port",
            "cable",
            "-device",
            "mlx4,sm=off",
        )
        self.said("^port 1 +InfiniBand, Down")

    def test_too_little_memory(self):
        self.boot_and_fail(
            "taking memory for the adapter",
            "too little",
            "smaller budget",
            memory="16M",
            quiet=False,
        )

    def test_a_command_that_is_refused(self):
        self.boot_and_fail(
            "MAP_ICM of reserved entries",
            r"internal error \(0x01\) at MAP_ICM",
            "see the status in docs",
            "-device",
            "mlx4,x-fault-command=MAP_ICM:0x01",
        )
        # As it was when the command failed, not after all was undone.
        self.said("PCI command 0x0[0-9a-f]0[67]", "^command +MAP_ICM, GO clear, status 0x01")

    def test_an_exception_is_told_and_leaves_the_adapter_quiet(self):
        run = self.boot("bringup", words="x-fault-access")
        self.said(
            "^up +in", "^EXCEPTION .* at 0x", QUIET, "^remedy +.*addr2line", "^bringup: failed$"
        )
        # The remedy, taken by its word: images are built without tables of lines.
        address = self.said("^EXCEPTION .* at (0x[0-9a-f]+)")[1]
        options = self.said("^remedy +.*addr2line (-[a-zA-Z]+) IMAGE ADDRESS")[1]
        tool = machines.tool(self.kind.architecture, "addr2line")
        image = machines.image_file(self.kind.architecture, "bringup")
        found = subprocess.run(
            [tool, options, image, address], capture_output=True, text=True, check=True
        )
        self.assertRegex(found.stdout, "^(main|bring_up|freehca)")
        self.assertFalse(run.passed)
        self.assertGreater(run.status, 0)

    def test_an_exception_while_one_is_told_is_the_end(self):
        run = self.boot("bringup", words="x-fault-port x-fault-access")
        first_words = [line.split(" ")[0] for line in run.lines]
        self.assertEqual(first_words.count("EXCEPTION"), 1)
        self.assertNotIn("remedy", first_words)
        self.assertFalse(run.passed)
        self.assertGreater(run.status, 0, "it had to be killed")

    def test_conform_of_a_card_that_answers_otherwise(self):
        run = self.boot("conform", "-device", "mlx4,x-fault-command=HW_HEALTH_CHECK:0x01")
        self.said(
            r"^queries/hw_health_check: DIFFERS .expected: taken; got: refused: internal error",
            "^conform .* 1 differ, ",
            "^down +ok",
            QUIET,
        )
        self.assertFalse(run.passed)
        self.assertGreater(run.status, 0)

    def test_conform_of_a_card_that_does_not_answer(self):
        run = self.boot("conform", "-device", "mlx4,x-fault-command=HW_HEALTH_CHECK:stuck")
        self.said("^queries/hw_health_check: DIFFERS", "^FAILED +at running the list", QUIET)
        self.assertFalse(run.passed)
        self.assertGreater(run.status, 0)

    def test_pingpong_over_a_link_that_is_down(self):
        run = self.boot("pingpong", "-device", "mlx4,sm=off")
        self.said("^FAILED +at waiting for the ports", "^remedy", "^down +ok", QUIET)
        self.assertFalse(run.passed)

    def test_a_card_that_dies_under_traffic(self):
        def die(run, line):
            if line.startswith("RC") and " 64 bytes" in line:
                run.set("x-fault-catastrophic", True)

        # Slow enough that the messages last for longer than the monitor takes.
        adapter = "mlx4,id=hca0,x-fault-work-latency=3000000"
        run = self.boot("pingpong", "-device", adapter, at_line=die)
        self.said("^FAILED +at (RC|UD|making|taking)", "^remedy", "INTERNAL ERROR", QUIET)
        self.assertFalse(run.passed)
        self.assertGreater(run.status, 0)

    def test_firmware_that_is_stuck(self):
        self.boot_and_fail(
            "QUERY_DEV_CAP",
            "no answer in time at QUERY_DEV_CAP",
            "power off and on",
            "-device",
            "mlx4,x-fault-command=QUERY_DEV_CAP:stuck",
        )
        self.said("^command +QUERY_DEV_CAP, GO set")

    def test_an_internal_error_in_the_middle(self):
        def die(run, line):
            if line.endswith("MAD_DEMUX"):
                run.set("x-fault-catastrophic", True)

        # While it waits for a link that does not come.
        self.boot_and_fail(
            "waiting for the ports",
            "the device is gone",
            "error buffer",
            "-device",
            "mlx4,id=hca0,sm=off",
            at_line=die,
        )
        self.said("error buffer: INTERNAL ERROR", "0x0fffffff 0x00000000")

    def test_a_card_that_goes_away(self):
        def go(run, line):
            if line.endswith("MAD_DEMUX"):
                run.set("x-fault-removed", True)

        self.boot_and_fail(
            "waiting for the ports",
            "the device is gone",
            "all ones",
            "-device",
            "mlx4,id=hca0,sm=off",
            at_line=go,
            quiet=False,
        )
        self.said("^quiet +the adapter is gone")
