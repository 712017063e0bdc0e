#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""launcher_test.py FREEHCA-RUN OBJECT MEMBER: the launcher refuses what a preloaded library does not reach,
and becomes every other program. OBJECT is preloaded in the place of libfreehca-verbs.so: it shows
the files of a device freehca7. MEMBER joins the fabric that it is told and shows its slot and LID."""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

import elf_changes

LAUNCHER, OBJECT, MEMBER = (pathlib.Path(name).resolve() for name in sys.argv[1:4])
NOBODY = 65534
# A program that is linked with the C library alone.
PROGRAM = pathlib.Path("/usr/bin/env").read_bytes()
SYSTEM_ERROR, USAGE_ERROR, CANNOT_RUN, NOT_FOUND = 1, 2, 126, 127


class Launcher(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)

    def environment(self, **others):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("FREEHCA_", "LD_"))}
        return {**kept, "FREEHCA_VERBS": str(OBJECT), **others}

    def run_launcher(self, *words, launcher=LAUNCHER, **options):
        options.setdefault("env", self.environment())
        return subprocess.run(
            [str(launcher), *map(str, words)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **options,
        )

    def program(self, content, name="program", mode=0o755):
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(mode)
        return path

    def expect_refusal(self, status, *parts, words, **options):
        """Refused, with these parts in the message, in words and as JSON."""
        for before in ((), ("--json",)):
            ended = self.run_launcher(*before, *words, **options)
            self.assertEqual(ended.returncode, status, ended.stderr)
            self.assertTrue(ended.stderr.startswith("freehca-run: "), ended.stderr)
            self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
            for part in parts:
                self.assertIn(str(part), ended.stderr)
            if before:
                document = json.loads(ended.stdout)
                self.assertEqual(document["code"], status)
                self.assertEqual(f"freehca-run: {document['error']}\n", ended.stderr)
            else:
                self.assertEqual(ended.stdout, "")


class Becomes(Launcher):
    def test_the_program_has_the_process_number_and_the_words(self):
        words = ["--", "", "a b", "--json", "-x"]
        with subprocess.Popen(
            [LAUNCHER, "--", "sh", "-c", 'echo $$; printf "<%s>" "$0" "$@"', *words],
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment(),
        ) as process:
            text, _ = process.communicate(timeout=60)
        self.assertEqual(text, f"{process.pid}\n" + "".join(f"<{w}>" for w in words))

    def test_the_exit_status_is_the_programs(self):
        for status in (0, 1, 7, 126, 255):
            ended = self.run_launcher("--", "sh", "-c", f"exit {status}")
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (status, "", ""))

    def test_signals_are_the_programs(self):
        ended = self.run_launcher("--", "sh", "-c", "kill -KILL $$")
        self.assertEqual(ended.returncode, -signal.SIGKILL)
        with subprocess.Popen(
            [LAUNCHER, "--", "sh", "-c", "trap 'exit 33' TERM; echo; while :; do sleep 0.1; done"],
            stdout=subprocess.PIPE,
            env=self.environment(),
        ) as process:
            process.stdout.readline()
            process.terminate()
            self.assertEqual(process.wait(timeout=60), 33)

    def test_descriptors_and_signal_masks_are_those_of_the_caller(self):
        look = "ls -l /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"
        plain = subprocess.run(
            ["sh", "-c", look], capture_output=True, text=True, check=True, env=self.environment()
        )
        self.assertEqual(self.run_launcher("--", "sh", "-c", look).stdout, plain.stdout)

    def test_the_library_is_preloaded(self):
        listing = ("ls", "/sys/class/infiniband")
        self.assertIn("freehca7\n", self.run_launcher("--", *listing).stdout)
        self.assertIn("freehca7\n", self.run_launcher("--", "sh", "-c", " ".join(listing)).stdout)
        plain = subprocess.run(
            listing, capture_output=True, text=True, check=False, env=self.environment()
        )
        self.assertNotIn("freehca7", plain.stdout)

    def values(self, *options, **others):
        ended = self.run_launcher(*options, "--", "env", env=self.environment(**others))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return dict(line.split("=", 1) for line in ended.stdout.splitlines() if "=" in line)

    def test_options_become_variables(self):
        capture, counters = self.folder / "a.pcap", self.folder / "b"
        values = self.values("--fabric", "Lab-1_a.b", "--capture", capture, "--counters", counters)
        self.assertEqual(values["FREEHCA_FABRIC"], "Lab-1_a.b")
        self.assertEqual(values["FREEHCA_CAPTURE"], str(capture))
        self.assertEqual(values["FREEHCA_COUNTERS"], str(counters))
        self.assertEqual(self.values("--device", "vfio:03:00.0")["FREEHCA_DEVICE"], "vfio:03:00.0")

    def test_door_and_pages_are_for_functions_over_vfio(self):
        device = ("--device", "vfio:03:00.0")
        values = self.values(*device, "--door", "iommufd", "--pages", "huge")
        self.assertEqual((values["FREEHCA_DOOR"], values["FREEHCA_PAGES"]), ("iommufd", "huge"))
        values = self.values(*device)
        self.assertNotIn("FREEHCA_DOOR", values)
        self.assertNotIn("FREEHCA_PAGES", values)
        for option, value in (("--door", "group"), ("--pages", "huge")):
            self.expect_refusal(
                USAGE_ERROR, option, "--device", words=[option, value, "--", "true"]
            )
        for option in ("--door", "--pages"):
            words = [*device, option, "window", "--", "true"]
            self.expect_refusal(USAGE_ERROR, option, "window", words=words)

    def test_link_and_address_become_variables(self):
        for address in ("10.1.2.3", "fd00::1", "2001:db8::10.0.0.1"):
            values = self.values("--link", "roce", "--ip", address)
            self.assertEqual((values["FREEHCA_LINK"], values["FREEHCA_IP"]), ("roce", address))
        values = self.values("--link", "infiniband", FREEHCA_LINK="roce")
        self.assertEqual(values["FREEHCA_LINK"], "infiniband")
        self.assertNotIn("FREEHCA_IP", values)
        values = self.values("--ip", "10.0.0.9", FREEHCA_LINK="roce")
        self.assertEqual((values["FREEHCA_LINK"], values["FREEHCA_IP"]), ("roce", "10.0.0.9"))
        values = self.values("--device", "vfio:03:00.0", "--ip", "10.0.0.9")
        self.assertEqual(values["FREEHCA_IP"], "10.0.0.9")

    def test_addresses_on_vlans_become_a_variable(self):
        roce = ("--link", "roce")
        values = self.values(*roce, "--vlan", "1=192.0.2.1", "--vlan=4094=fd00::1")
        self.assertEqual(values["FREEHCA_VLANS"], "1=192.0.2.1,4094=fd00::1")
        values = self.values(*roce, "--vlan", "100=192.0.2.1", FREEHCA_VLANS="7=192.0.2.7")
        self.assertEqual(values["FREEHCA_VLANS"], "100=192.0.2.1")
        self.assertNotIn("FREEHCA_VLANS", self.values(*roce))
        values = self.values("--device", "vfio:03:00.0", "--vlan", "100=192.0.2.1")
        self.assertEqual(values["FREEHCA_VLANS"], "100=192.0.2.1")

    def test_variables_without_an_option_stay(self):
        values = self.values(FREEHCA_FABRIC="kept", FREEHCA_CAPTURE="kept-too")
        self.assertEqual(values["FREEHCA_FABRIC"], "kept")
        self.assertEqual(values["FREEHCA_CAPTURE"], "kept-too")
        self.assertEqual(self.values("--fabric", "f", FREEHCA_FABRIC="kept")["FREEHCA_FABRIC"], "f")

    def test_a_file_is_named_from_the_callers_folder(self):
        ended = self.run_launcher(
            "--capture", "x.pcap", "--", "sh", "-c", "cd /; echo $FREEHCA_CAPTURE", cwd=self.folder
        )
        self.assertEqual(ended.stdout, f"{self.folder}/x.pcap\n")

    def test_preloaded_libraries_of_the_caller_stand_behind(self):
        other = self.program(OBJECT.read_bytes(), "other.so")
        self.assertEqual(self.values()["LD_PRELOAD"], str(OBJECT))
        values = self.values(LD_PRELOAD=str(other))
        self.assertEqual(values["LD_PRELOAD"], f"{OBJECT}:{other}")
        again = self.values(LD_PRELOAD=f"{other} {OBJECT}")
        self.assertEqual(again["LD_PRELOAD"], f"{OBJECT}:{other}")

    def test_scripts_run(self):
        for line in (
            "#!/bin/sh",
            "#! /bin/sh -e",
            "#!/usr/bin/env sh",
            "#!/usr/bin/env -S -u X sh -e",
        ):
            path = self.program(f"{line}\nls /sys/class/infiniband\n".encode())
            ended = self.run_launcher("--", path)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertIn("freehca7\n", ended.stdout)

    def test_a_program_is_found_as_execvp_finds_it(self):
        self.program(b"#!/bin/sh\necho first\n", "tool", mode=0o644)
        below = self.folder / "below"
        below.mkdir()
        second = below / "tool"
        second.write_text("#!/bin/sh\necho second\n")
        second.chmod(0o755)
        path = f"{self.folder}/none:{self.folder}:{below}:{os.environ['PATH']}"
        ended = self.run_launcher("--", "tool", env=self.environment(PATH=path))
        self.assertEqual(ended.stdout, "second\n")
        # An empty entry is the current folder.
        ended = self.run_launcher("--", "tool", env=self.environment(PATH=":/bin"), cwd=below)
        self.assertEqual(ended.stdout, "second\n")


class Refuses(Launcher):
    def test_what_is_not_there(self):
        self.expect_refusal(NOT_FOUND, "no-such-program", "PATH", words=["--", "no-such-program"])
        path = self.folder / "none"
        self.expect_refusal(NOT_FOUND, path, "no such program", words=["--", path])
        self.expect_refusal(NOT_FOUND, "PATH", words=["--", ""])

    def test_what_is_not_executable(self):
        path = self.program(PROGRAM, mode=0o644)
        self.expect_refusal(CANNOT_RUN, path, "not executable", "chmod", words=["--", path])
        here = self.environment(PATH=str(self.folder))
        self.expect_refusal(CANNOT_RUN, path, "chmod", words=["--", "program"], env=here)
        self.expect_refusal(CANNOT_RUN, "folder", words=["--", self.folder])
        self.expect_refusal(CANNOT_RUN, "special file", words=["--", "/dev/null"])

    def test_a_static_program(self):
        path = self.program(elf_changes.without_loader(PROGRAM))
        self.expect_refusal(CANNOT_RUN, path, "static", "shared libraries", words=["--", path])

    def test_programs_that_gain_rights(self):
        self.assertEqual(self.run_launcher("--", self.program(PROGRAM)).returncode, 0)
        for mode, name in ((0o4755, "set-user-id"), (0o2755, "set-group-id")):
            path = self.program(PROGRAM, mode=mode)
            self.assertEqual(path.stat().st_mode & 0o7000, mode & 0o7000)
            self.expect_refusal(CANNOT_RUN, path, name, "copy", words=["--", path])
        # Without execution by the group the bit marks something else.
        path = self.program(PROGRAM, mode=0o2705)
        self.assertEqual(self.run_launcher("--", path).returncode, 0)

    def test_file_capabilities(self):
        path = self.program(PROGRAM)
        net_raw = 1 << 13
        value = struct.pack("<IIIII", 0x02000000, net_raw, 0, 0, 0)
        try:
            os.setxattr(path, "security.capability", value)
        except PermissionError:
            self.skipTest("only root gives file capabilities")
        self.expect_refusal(CANNOT_RUN, path, "file capabilities", "copy", words=["--", path])
        copy = self.folder / "copy"
        shutil.copyfile(path, copy)
        copy.chmod(0o755)
        self.assertEqual(self.run_launcher("--", copy).returncode, 0)

    def test_another_architecture(self):
        # The header of a 32-bit program is shorter.
        short = elf_changes.of_word_size(PROGRAM[:52], 1)
        for changed in (elf_changes.of_machine(PROGRAM, 243), short):
            path = self.program(changed)
            self.expect_refusal(CANNOT_RUN, path, "another architecture", words=["--", path])

    def test_another_c_library(self):
        path = self.program(elf_changes.with_loader(PROGRAM, "/lib/ld-musl.so.1"))
        self.expect_refusal(CANNOT_RUN, path, "/lib/ld-musl.so.1", "C library", words=["--", path])

    def test_what_is_no_program(self):
        for content in (b"", b"echo\n", PROGRAM[:40], PROGRAM[:70], b"\x7fELF"):
            path = self.program(content)
            self.expect_refusal(CANNOT_RUN, path, "neither", words=["--", path])

    def test_scripts_whose_interpreter_is_refused(self):
        static = self.program(elf_changes.without_loader(PROGRAM), "static")
        for line in (f"#!{static}", f"#! {static} -x"):
            script = self.program(f"{line}\n".encode(), "script")
            self.expect_refusal(
                CANNOT_RUN, f"{script} is a script", f"{static} is a static", words=["--", script]
            )
            outer = self.program(f"#!{script}\n".encode(), "outer")
            self.expect_refusal(CANNOT_RUN, f"{outer} is", "static", words=["--", outer])
        by_env = self.program(b"#!/usr/bin/env -i A=b static\n", "by_env")
        here = self.environment(PATH=str(self.folder))
        self.expect_refusal(CANNOT_RUN, f"{by_env} is", "static", words=["--", by_env], env=here)
        for line in ("#!/none/sh", "#!/usr/bin/env none-such", "#!", "#!\n/bin/sh"):
            script = self.program(f"{line}\n".encode(), "script")
            self.expect_refusal(CANNOT_RUN, script, "interpreter", words=["--", script])
        loop = self.folder / "loop"
        self.program(f"#!{loop}\n".encode(), "loop")
        self.expect_refusal(CANNOT_RUN, loop, "5 times", words=["--", loop])

    def test_a_program_that_cannot_be_read(self):
        copy = self.folder / "freehca-run"
        shutil.copy(LAUNCHER, copy)
        path = self.program(PROGRAM, mode=0o711)
        nobody = {"user": NOBODY} if os.geteuid() == 0 else {}
        if not nobody:
            path.chmod(0o111)
        self.expect_refusal(
            CANNOT_RUN, path, "cannot be read", words=["--", path], launcher=copy, **nobody
        )


class Usage(Launcher):
    def test_help_and_version(self):
        shown = self.run_launcher("--help")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        for option in (
            "--fabric",
            "--link",
            "--ip",
            "--vlan",
            "--device",
            "--capture",
            "--part-id",
            "--counters",
            "--list",
            "--json",
            "--version",
        ):
            self.assertIn(option, shown.stdout)
        shown = self.run_launcher("--version")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertRegex(shown.stdout, r"^freehca-run \d+\.\d+\.\d+\n$")

    def test_command_lines(self):
        program = ("--", "true")
        for words, part in (
            ((), "no program"),
            (("--",), "no program"),
            (("true",), "freehca-run ... -- true"),
            (("--frobnicate", *program), "--frobnicate"),
            (("--fabric", *program), "--fabric"),
        ):
            self.expect_refusal(USAGE_ERROR, part, words=words)

    def test_names_of_devices(self):
        for name in ("", "vfio:", "0000:03:00.0", "vfio:0000:03:00.8", "vfio-user:/run/socket"):
            self.expect_refusal(USAGE_ERROR, "vfio:ADDRESS", words=["--device", name, "--", "true"])
        wrong = self.run_launcher("--", "true", env=self.environment(FREEHCA_DEVICE="uio:1"))
        self.assertEqual(wrong.returncode, USAGE_ERROR)
        self.assertIn("FREEHCA_DEVICE: 'uio:1'", wrong.stderr)

    def test_a_library_of_another_device(self):
        for options, name in (
            ((), "libfreehca-verbs-vfio.so"),
            (("--device", "vfio:03:00.0"), "libfreehca-verbs.so"),
        ):
            self.expect_refusal(
                SYSTEM_ERROR,
                name,
                "FREEHCA_VERBS",
                "unset",
                words=[*options, "--", "true"],
                env=self.environment(FREEHCA_VERBS=str(OBJECT.with_name(name))),
            )

    def test_options_of_modelled_adapters(self):
        for option, value in (
            ("--fabric", "lab"),
            ("--link", "roce"),
            ("--capture", self.folder / "c"),
            ("--counters", self.folder / "d"),
        ):
            self.expect_refusal(
                USAGE_ERROR,
                option,
                "modelled adapters",
                words=["--device", "vfio:03:00.0", option, value, "--", "true"],
            )

    def test_link_layers(self):
        for name in ("", "ethernet", "RoCE", "ib"):
            self.expect_refusal(
                USAGE_ERROR,
                "--link",
                f"'{name}' is no link layer: infiniband or roce",
                words=["--link", name, "--", "true"],
            )

    def test_ip_addresses(self):
        for address in ("", "10.0.0", "10.0.0.256", "10.0.0.1/24", "host", "fd00::1%eth0", "::g"):
            self.expect_refusal(
                USAGE_ERROR,
                "--ip",
                f"'{address}' is no IP address",
                words=["--link", "roce", "--ip", address, "--", "true"],
            )
        for address in (
            *("0.0.0.0", "127.0.0.1", "224.0.0.1", "239.255.255.255", "255.255.255.255"),
            *("::", "::1", "ff02::1", "fe80::1", "::ffff:10.0.0.1", "::10.0.0.1"),
        ):
            self.expect_refusal(
                USAGE_ERROR,
                "--ip",
                f"cannot have the IP address {address}:",
                words=["--link", "roce", "--ip", address, "--", "true"],
            )

    def test_an_ip_address_is_for_ethernet_ports(self):
        for link in ((), ("--link", "infiniband")):
            self.expect_refusal(
                USAGE_ERROR, "add --link roce", words=[*link, "--ip", "10.0.0.1", "--", "true"]
            )

    def test_vlans(self):
        roce, program = ("--link", "roce"), ("--", "true")
        for vlan in (
            *("", "100", "=192.0.2.1", "0=192.0.2.1", "4095=192.0.2.1", "+1=192.0.2.1"),
            *("0100=192.0.2.1", "0x64=192.0.2.1", "100:192.0.2.1", "192.0.2.1=100", "x=y"),
        ):
            self.expect_refusal(
                USAGE_ERROR,
                "--vlan",
                f"'{vlan}' is no VLAN=ADDRESS",
                words=[*roce, "--vlan", vlan, *program],
            )
        for vlan, part in (
            ("100=", "'' is no IP address"),
            ("100=192.0.2.1/24", "'192.0.2.1/24' is no IP address"),
            ("100=192.0.2.1,200=192.0.2.2", "is no IP address"),
            ("100=224.0.0.1", "cannot have the IP address 224.0.0.1"),
            ("100=fe80::1", "cannot have the IP address fe80::1"),
        ):
            self.expect_refusal(
                USAGE_ERROR, "--vlan", part, words=[*roce, "--vlan", vlan, *program]
            )
        for others in (
            ("--ip", "192.0.2.1", "--vlan", "1=192.0.2.1"),
            ("--vlan", "1=192.0.2.1", "--vlan", "2=192.0.2.1"),
            ("--vlan", "1=fd00::1", "--vlan", "1=fd00:0::1"),
        ):
            self.expect_refusal(USAGE_ERROR, "already", words=[*roce, *others, *program])
        nine = [word for i in range(1, 10) for word in ("--vlan", f"{i}=192.0.2.{i}")]
        self.expect_refusal(USAGE_ERROR, "at most 8", words=[*roce, *nine, *program])
        for link in ((), ("--link", "infiniband")):
            self.expect_refusal(
                USAGE_ERROR,
                "--vlan is for Ethernet ports: add --link roce",
                words=[*link, "--vlan", "1=192.0.2.1", *program],
            )

    def test_part_numbers(self):
        for number in ("1", "4100", "65534", "0x1", "0x1004", "0xfffe"):
            ended = self.run_launcher(
                "--part-id", number, "--", "sh", "-c", "echo $FREEHCA_PART_ID"
            )
            self.assertEqual((ended.returncode, ended.stdout), (0, f"{number}\n"), ended.stderr)
        for number in ("", "0", "0x0", "65535", "0xffff", "65536", "0x10000", "+1", "1e3", "010"):
            self.expect_refusal(
                USAGE_ERROR,
                "--part-id",
                f"'{number}' is no part number: 1 to 65534, or 0x1 to 0xfffe",
                words=["--part-id", number, "--", "true"],
            )

    def test_names_of_fabrics(self):
        for name in ("", "a/b", "a b", "ä", "x" * 65):
            self.expect_refusal(
                USAGE_ERROR, "--fabric", "1 to 64 letters", words=["--fabric", name, "--", "true"]
            )
        longest = self.run_launcher("--fabric", "x" * 64, "--", "true")
        self.assertEqual(longest.returncode, 0, longest.stderr)

    def test_files(self):
        for option in ("--capture", "--counters"):
            for path, part in (
                (self.folder / "none" / "x", "no folder"),
                ("/dev/null/x", "no folder"),
                (self.folder, "no name of a file"),
                (f"{self.folder}/", "no name of a file"),
                ("", "no name of a file"),
            ):
                self.expect_refusal(USAGE_ERROR, option, part, words=[option, path, "--", "true"])
        copy = self.folder / "freehca-run"
        shutil.copy(LAUNCHER, copy)
        closed = self.folder / "closed"
        closed.mkdir(mode=0o555)
        kept = self.program(b"", "kept", mode=0o444)
        nobody = {"user": NOBODY} if os.geteuid() == 0 else {}
        self.expect_refusal(
            USAGE_ERROR,
            closed,
            "cannot be written",
            words=["--capture", closed / "x", "--", "true"],
            launcher=copy,
            **nobody,
        )
        self.folder.chmod(0o777)
        self.expect_refusal(
            USAGE_ERROR,
            f"{kept} cannot be written",
            words=["--capture", kept, "--", "true"],
            launcher=copy,
            **nobody,
        )


class Library(Launcher):
    def test_a_library_that_cannot_be_preloaded(self):
        text = self.program(b"no library", "text.so")
        spaced = self.program(OBJECT.read_bytes(), "a b.so")
        other = self.program(elf_changes.of_machine(OBJECT.read_bytes(), 243), "other.so")
        for path, part in (
            (self.folder / "none.so", "no library of this machine"),
            (text, "no library of this machine"),
            (other, "no library of this machine"),
            (spaced, "a space or a colon"),
        ):
            self.expect_refusal(
                SYSTEM_ERROR,
                path,
                part,
                words=["--", "true"],
                env=self.environment(FREEHCA_VERBS=str(path)),
            )

    def test_the_library_beside_the_launcher(self):
        environment = self.environment(FREEHCA_VERBS="")
        installed = self.folder / "bin"
        installed.mkdir()
        launcher = installed / "freehca-run"
        shutil.copy(LAUNCHER, launcher)
        self.expect_refusal(
            SYSTEM_ERROR,
            "libfreehca-verbs.so",
            launcher,
            "FREEHCA_VERBS",
            words=["--", "true"],
            launcher=launcher,
            env=environment,
        )
        for folder in (self.folder, self.folder / "lib" / "freehca"):
            folder.mkdir(parents=True, exist_ok=True)
            library = folder / "libfreehca-verbs.so"
            shutil.copy(OBJECT, library)
            ended = self.run_launcher(
                "--", "sh", "-c", "echo $LD_PRELOAD", launcher=launcher, env=environment
            )
            self.assertEqual(ended.stdout, f"{library}\n", ended.stderr)


class Fabrics(Launcher):
    def setUp(self):
        super().setUp()
        self.fabric = f"launcher-test-{os.getpid()}"

    def start_member(self, *words):
        """A process on the fabric, and the words that it prints."""
        process = subprocess.Popen(
            [MEMBER, self.fabric, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        return process, process.stdout.readline().split()

    def join(self):
        """A process on the fabric, with its slot and LID."""
        process, words = self.start_member()
        return process, *map(int, words)

    def listed(self):
        """The members of the fabric, or None: it is not listed."""
        ended = self.run_launcher("--list", "--json")
        self.assertEqual(ended.stderr, "")
        fabrics = {f["name"]: f for f in json.loads(ended.stdout)["fabrics"]}
        # Other tests may have broken files in the same folder at this time.
        unreadable = any("problem" in f for f in fabrics.values())
        self.assertEqual(ended.returncode, SYSTEM_ERROR if unreadable else 0)
        self.assertNotIn("problem", fabrics.get(self.fabric, {}))
        return fabrics.get(self.fabric, {}).get("members")

    def test_members_are_listed_while_they_live(self):
        self.assertIsNone(self.listed())
        first, slot, lid = self.join()
        expected = {"slot": slot, "lid": lid, "process": first.pid, "program": MEMBER.name}
        self.assertEqual(self.listed(), [expected])
        second, _, _ = self.join()
        self.assertEqual({m["process"] for m in self.listed()}, {first.pid, second.pid})
        text = self.run_launcher("--list").stdout
        lines = text.partition(f"{self.fabric}\n")[2].splitlines()
        self.assertEqual(
            lines[0].split(),
            ["slot", str(slot), "LID", str(lid), "process", str(first.pid), MEMBER.name],
        )
        second.kill()
        second.wait()
        self.assertEqual(self.listed(), [expected])
        first.stdin.close()
        first.wait()
        self.assertIsNone(self.listed())

    def test_members_of_an_ethernet_fabric_are_listed_with_their_addresses(self):
        process, (slot, address) = self.start_member("roce")
        (member,) = self.listed()
        mac = member.pop("mac")
        self.assertRegex(mac, "^00:02:c9(:[0-9a-f]{2}){3}$")
        expected = {"slot": int(slot), "ip": address, "process": process.pid}
        self.assertEqual(member, {**expected, "program": MEMBER.name})
        text = self.run_launcher("--list").stdout
        self.assertEqual(
            text.partition(f"{self.fabric}\n")[2].splitlines()[0].split()[:6],
            ["slot", slot, "MAC", mac, "IP", address],
        )

    def test_a_file_that_is_no_fabric_is_listed_with_its_problem(self):
        path = pathlib.Path(f"/dev/shm/freehca-{os.geteuid()}-{self.fabric}")
        path.write_bytes(b"no fabric")
        self.addCleanup(path.unlink)
        path.chmod(0o600)
        ended = self.run_launcher("--list", "--json")
        self.assertEqual((ended.returncode, ended.stderr), (SYSTEM_ERROR, ""))
        fabrics = {f["name"]: f for f in json.loads(ended.stdout)["fabrics"]}
        self.assertIn("not a fabric's file", fabrics[self.fabric]["problem"])

    def test_the_list_is_without_a_program(self):
        for words in (
            ("--list", "--", "true"),
            ("--list", "--fabric", "a"),
            ("--list", "--link", "roce"),
        ):
            self.expect_refusal(USAGE_ERROR, "--list", words=words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
