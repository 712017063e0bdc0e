#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""qemu/build/versions.sh: which version of QEMU's source belongs to a package, and which package is
installed where there is none. And qemu/build/source_headers.py: the part of a patch that concerns
the headers."""
import importlib.util
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Answers with the file "installed": a line each, "PACKAGE STATUS VERSION SOURCE".
DPKG_QUERY = """#!/bin/bash
for pattern in "$@"; do :; done
while read -r package status version source; do
  # shellcheck disable=SC2053 # a pattern
  [[ $package == $pattern ]] || continue
  case $3 in
    *source:Package*) echo "$package $status $source" ;;
    *) echo "$status $version" ;;
  esac
done <"$STATE/installed"
"""


def headers_script():
    path = os.path.join(ROOT, "qemu", "build", "source_headers.py")
    spec = importlib.util.spec_from_file_location("source_headers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Versions(unittest.TestCase):
    def run_bash(self, words, installed="", given=""):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "dpkg-query")
            with open(path, "w", encoding="utf-8") as file:
                file.write(DPKG_QUERY)
            os.chmod(path, 0o755)
            with open(os.path.join(folder, "installed"), "w", encoding="utf-8") as file:
                file.write(installed)
            run = subprocess.run(
                ["bash", "-c", "set -euo pipefail; . qemu/build/versions.sh; " + words],
                cwd=ROOT,
                env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "STATE": folder},
                input=given,
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(run.stderr, "")
            return run.returncode, run.stdout.split()

    def test_a_package_that_was_only_compiled_again_has_the_same_source(self):
        for version, source in (
            ("1:7.2+dfsg-7+deb12u16+b1", "1:7.2+dfsg-7+deb12u16"),
            ("1:7.2+dfsg-7+deb12u16+b12", "1:7.2+dfsg-7+deb12u16"),
            ("1:7.2+dfsg-7+deb12u16", "1:7.2+dfsg-7+deb12u16"),
            ("1:10.0.2+ds-2+deb13u1+b3", "1:10.0.2+ds-2+deb13u1"),
            ("1:8.0+b1+dfsg-1", "1:8.0+b1+dfsg-1"),
            ("1:8.0+dfsg-1+beta1", "1:8.0+dfsg-1+beta1"),
        ):
            with self.subTest(version):
                self.assertEqual(self.run_bash(f"source_version '{version}'"), (0, [source]))

    def test_what_is_removed_but_for_its_configuration_is_not_installed(self):
        installed = (
            "qemu-system-x86 installed 1:7.2+b1 qemu\nqemu-system-arm config-files 1:7.2 qemu\n"
        )
        self.assertEqual(
            self.run_bash("installed_version qemu-system-x86", installed), (0, ["1:7.2+b1"])
        )
        for package in ("qemu-system-arm", "qemu-system-misc"):
            with self.subTest(package):
                self.assertEqual(self.run_bash(f"installed_version {package}", installed), (1, []))

    def test_only_packages_of_qemu_s_own_source_go_along(self):
        installed = (
            "qemu-system-x86 installed 1:7.2 qemu\nqemu-system-data installed 1:7.2 qemu\n"
            "qemu-efi-arm installed 2022 edk2\nqemu-utils not-installed 1:7.2 qemu\n"
        )
        self.assertEqual(
            self.run_bash("qemu_packages_installed", installed),
            (0, ["qemu-system-x86", "qemu-system-data"]),
        )

    def match(self, installed, packages, sources):
        given = "".join(f"package {version}\n" for version in packages)
        given += "".join(f"source {version}\n" for version in sources)
        return self.run_bash(f"matching_version '{installed}'", given=given)

    def test_the_newest_package_with_a_source_is_chosen(self):
        self.assertEqual(
            self.match("1:7.2-7+u15", ["1:7.2-7+u18+b3", "1:7.2-7+u16"], ["1:7.2-7+u18"]),
            (0, ["1:7.2-7+u18+b3"]),
        )
        # The newest has no source.
        self.assertEqual(
            self.match("1:7.2-7+u15", ["1:7.2-7+u18", "1:7.2-7+u16+b1"], ["1:7.2-7+u16"]),
            (0, ["1:7.2-7+u16+b1"]),
        )
        # By Debian's order, and not by that of letters.
        self.assertEqual(
            self.match("1:7.2-1", ["1:7.2-9", "1:7.2-10"], ["1:7.2-9", "1:7.2-10"]),
            (0, ["1:7.2-10"]),
        )

    def test_an_older_one_is_never_installed(self):
        self.assertEqual(self.match("1:9.2-1", ["1:7.2-7"], ["1:7.2-7"]), (1, []))

    def test_nothing_matches(self):
        self.assertEqual(self.match("1:7.2-7", ["1:7.2-8"], ["1:7.2-9"]), (1, []))
        self.assertEqual(self.match("1:7.2-7", [], []), (1, []))


class Patches(unittest.TestCase):
    NEEDED = "--- a/include/x.h\n+++ b/include/x.h\n@@ -1 +1 @@\n-a\n+b\n"
    # A line that is removed may look like the head of a section.
    OTHER = "--- a/hw/y.c\n+++ b/hw/y.c\n@@ -1,2 +1,2 @@\n--- a/include/z.h\n-+++ c\n+-- d\n++ e\n"

    def part(self, text):
        return headers_script().needed_part(text.encode()).decode()

    def test_sections_of_other_files_are_left_out(self):
        for git in ("", "diff --git a/f b/f\nindex 1..2 100644\n"):
            needed, other = git + self.NEEDED, git + self.OTHER
            for text in (needed + other, other + needed, other + needed + other):
                with self.subTest(text):
                    self.assertEqual(self.part("Subject: words\n\n" + text).count("include/x.h"), 2)
                    self.assertNotIn("hw/y.c", self.part("Subject: words\n\n" + text))
            self.assertEqual(self.part("Subject: words\n\n" + other), "")

    def test_a_new_file_and_one_that_goes(self):
        for text in (
            "--- /dev/null\n+++ b/include/x.h\n@@ -0,0 +1 @@\n+a\n",
            "--- a/include/x.h\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        ):
            self.assertEqual(self.part(text), text)

    def test_names_that_only_begin_alike(self):
        self.assertEqual(self.part(self.NEEDED.replace("include/", "includes/")), "")


if __name__ == "__main__":
    unittest.main()
