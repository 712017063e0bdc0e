# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Each command of ./dev prints its help, and installs, builds and starts nothing for that."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A help text starts none of these; each is replaced by a program that reports its call.
TOOLS = (
    "apt-get apt-cache cmake cpack dpkg-query g++ clang++ clang-format black git make meson ninja "
    "sudo xz qemu-system-x86_64"
).split()


def commands():
    """The commands of the script, by the patterns of its `case`, but for `help` itself."""
    script = (ROOT / "dev").read_text(encoding="utf-8")
    cases = script.split("case $command in\n", 1)[1].split("\nesac", 1)[0]
    patterns = re.findall(r"^  ([a-z][a-z| -]*)\)", cases, re.M)
    names = [name.strip() for pattern in patterns for name in pattern.split("|")]
    return [name for name in names if name not in ("help", "-h", "--help")]


class DevHelp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.called = self.folder / "called"
        for tool in TOOLS:
            file = self.folder / tool
            file.write_text(f'#!/bin/sh\necho "{tool} $*" >>{self.called}\nexit 1\n')
            file.chmod(0o755)

    def dev(self, *words):
        return subprocess.run(
            [str(ROOT / "dev"), *words],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            stdin=subprocess.DEVNULL,
            # A step would fail: its log has no place.
            env={
                **os.environ,
                "PATH": f"{self.folder}:{os.environ['PATH']}",
                "FREEHCA_LOGS": "/dev/null/none",
                "FREEHCA_CACHE": str(self.folder / "cache"),
            },
        )

    def test_the_script_is_read_as_it_is_written(self):
        self.assertTrue({"bare", "demo", "test", "qemu", "guest"} <= set(commands()), commands())
        self.assertGreaterEqual(len(commands()), 12, commands())

    def test_each_command_has_help(self):
        for command in commands():
            for word in ("--help", "-h"):
                with self.subTest(command, word=word):
                    done = self.dev(command, word)
                    self.assertEqual((0, ""), (done.returncode, done.stderr))
                    self.assertTrue(done.stdout.startswith(f"./dev {command}"), done.stdout)
                    self.assertNotIn("set -euo", done.stdout)
                    self.assertFalse(self.called.exists(), "a tool was called")
                    self.assertFalse((self.folder / "cache").exists())

    def test_help_may_stand_behind_other_words(self):
        for words in (
            ["bare", "x86_64", "--help"],
            ["test", "unit", "-h"],
            ["fuzz", "model", "-h"],
        ):
            with self.subTest(words):
                done = self.dev(*words)
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                self.assertTrue(done.stdout.startswith(f"./dev {words[0]}"), done.stdout)

    def test_the_list_of_commands_has_each(self):
        done = self.dev("help")
        listed = set(re.findall(r"^  ([a-z]+)", done.stdout, re.M))
        self.assertEqual(set(), set(commands()) - listed)


if __name__ == "__main__":
    unittest.main()
