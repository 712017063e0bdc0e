#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""qemu/build/versions.sh and preload.sh: which version of QEMU's source belongs to a package, which
package is installed where there is none, and that no shared object is used for another QEMU. And
qemu/build/source_headers.py: the part of a patch that concerns the headers."""
import glob
import importlib.util
import os
import shutil
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
    *Version*) echo "$status $version" ;;
    *) echo "$status" ;;
  esac
done <"$STATE/installed"
"""


# apt-get installs by writing the file "installed"; a source package that it downloads has the
# version as its contents. "sources" and "packages" are the versions that the archive has.
APT_GET = """#!/bin/bash
echo "apt-get $*" >>"$STATE/calls"
case " $* " in
  *" install "*)
    for word in "$@"; do
      [[ $word != qemu-system-x86=* ]] || sed -i "s/^\\(qemu-system-x86 installed\\) [^ ]*/\\1 ${word#*=}/" "$STATE/installed"
    done ;;
  *" source "*)
    version=${!#}
    mkdir -p qemu-1/{accel/qtest,include,qapi,scripts,trace} debian/patches
    echo "${version#*=}" >qemu-1/VERSION
    : >debian/patches/series
    tar -cf qemu_1.orig.tar.xz qemu-1
    tar -cf qemu_1.debian.tar.xz debian
    rm -r qemu-1 debian ;;
esac
"""
APT_CACHE = """#!/bin/bash
case " $* " in
  *" showsrc "*) sed 's/^/Version: /' "$STATE/sources" ;;
  *" madison "*) sed 's/.*/qemu-system-x86 | & | http:\\/\\/archive main Packages/' "$STATE/packages" ;;
  *" show "*)
    name=${!#}
    ! grep -qx "${name#*=}" "$STATE/packages" || echo "Package: $name" ;;
esac
"""
SUDO = '#!/bin/bash\nexec "$@"\n'


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


class Preload(unittest.TestCase):
    """preload.sh --glue on a system whose dpkg and apt are ours, up to the compiler, which has no
    header of QEMU's."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="freehca-versions-")
        self.addCleanup(shutil.rmtree, self.folder)
        for name, text in (
            ("dpkg-query", DPKG_QUERY),
            ("apt-get", APT_GET),
            ("apt-cache", APT_CACHE),
            ("sudo", SUDO),
        ):
            self.write(name, text)
            os.chmod(os.path.join(self.folder, name), 0o755)
        self.write("calls", "")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def run_preload(self, installed, packages, sources):
        lines = [f"qemu-system-x86 installed {installed} qemu"]
        with open(os.path.join(ROOT, "dev.d", "packages.txt"), encoding="utf-8") as file:
            for line in file:
                if line.startswith("preload:"):
                    lines += [f"{name} installed 1 other" for name in line.split()[1:]]
        self.write("installed", "\n".join([*lines, "seabios installed 1 seabios"]) + "\n")
        self.write("packages", "\n".join(packages) + "\n")
        self.write("sources", "\n".join(sources) + "\n")
        run = subprocess.run(
            ["qemu/build/preload.sh", "--glue"],
            cwd=ROOT,
            env={
                **os.environ,
                "PATH": f"{self.folder}:{os.environ['PATH']}",
                "STATE": self.folder,
                "FREEHCA_ROOT": ROOT,
                "FREEHCA_LOGS": f"{self.folder}/logs",
                "FREEHCA_CACHE": f"{self.folder}/cache",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as file:
            return run.returncode, run.stderr, file.read()

    def headers(self):
        """The versions of the headers that the cache has."""
        found = []
        for path in glob.glob(f"{self.folder}/cache/qemu/headers-*/VERSION"):
            with open(path, encoding="utf-8") as file:
                found.append(file.read().strip())
        return sorted(found)

    def test_a_package_that_was_only_compiled_again_needs_no_other(self):
        _, said, calls = self.run_preload(
            "1:7.2-7+u16+b1", ["1:7.2-7+u16+b1"], ["1:7.2-7+u15", "1:7.2-7+u16"]
        )
        self.assertIn("source --download-only --only-source qemu=1:7.2-7+u16\n", calls, said)
        self.assertNotIn(" install ", calls)
        self.assertEqual(self.headers(), ["1:7.2-7+u16"])

    def test_a_pair_that_matches_is_installed(self):
        _, said, calls = self.run_preload(
            "1:7.2-7+u15", ["1:7.2-7+u18+b3", "1:7.2-7+u17"], ["1:7.2-7+u18"]
        )
        self.assertRegex(calls, r"install -y .* qemu-system-x86=1:7\.2-7\+u18\+b3\n")
        self.assertIn("1:7.2-7+u15 is installed, and the archive has no source of it", said)
        self.assertEqual(self.headers(), ["1:7.2-7+u18"])

    def test_without_a_pair_the_other_ways_are_named(self):
        status, said, calls = self.run_preload("1:9.9-1", ["1:7.2-7"], ["1:7.2-7"])
        self.assertEqual(status, 3, said)
        self.assertIn("QEMU 1:9.9-1 is installed (qemu-system-x86)", said)
        self.assertIn("./dev guest --device-server", said)
        self.assertIn("./dev qemu --build", said)
        self.assertNotIn(" install ", calls)
        self.assertEqual(self.headers(), [])

    def test_after_an_upgrade_the_old_headers_are_not_used(self):
        self.run_preload("1:7.2-7+u16", [], ["1:7.2-7+u16", "1:7.2-7+u17"])
        self.run_preload("1:7.2-7+u17", [], ["1:7.2-7+u16", "1:7.2-7+u17"])
        self.assertEqual(self.headers(), ["1:7.2-7+u16", "1:7.2-7+u17"])

    def test_a_byte_of_anything_makes_other_objects(self):
        files = ["archive", "qemu-a", "qemu-b"]
        paths = [os.path.join(self.folder, name) for name in files]
        keys = set()
        for changed in [None, *files]:
            for name in files:
                self.write(name, "x" if name == changed else "")
            words = [
                "bash",
                "-c",
                '. dev.d/cache.sh; . qemu/build/versions.sh; objects_key "$@"',
                "-",
            ]
            run = subprocess.run(
                [*words, "glue", *paths], cwd=ROOT, check=True, capture_output=True, text=True
            )
            keys.add(run.stdout)
        self.assertEqual(len(keys), 1 + len(files))


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
