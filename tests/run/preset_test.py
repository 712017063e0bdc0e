#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""preset.sh with a cmake and a ctest that only note what they are asked for: how a build folder is
configured, and that no failure is lost."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from stages import RECORDED

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
case "$*" in *"$FAILING"*) exit 9 ;; esac
"""


class Preset(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name in ("bin", "results", "tree"):
            (self.folder / name).mkdir()
        for name in ("dev.d", "tests"):
            (self.folder / "tree" / name).symlink_to(ROOT / name)
        for name in ("cmake", "ctest"):
            path = self.folder / "bin" / name
            path.write_text(PROGRAM)
            path.chmod(0o755)

    def preset(self, *words, failing="nothing fails", **environment):
        """Exit status, and the calls of cmake and ctest."""
        calls = self.folder / "calls"
        calls.write_text("")
        done = subprocess.run(
            ["/bin/bash", str(ROOT / "tests/run/preset.sh"), *words],
            capture_output=True,
            text=True,
            check=False,
            env={
                "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
                "FREEHCA_ROOT": str(self.folder / "tree"),
                "FREEHCA_RESULTS": str(self.folder / "results"),
                "CALLS": str(calls),
                "FAILING": failing,
                **environment,
            },
        )
        return done.returncode, calls.read_text().splitlines()

    def recorded(self):
        text = (self.folder / "results" / "own.tsv").read_text()
        return [tuple(line.split("\t")[i] for i in (0, 2)) for line in text.splitlines()]

    def test_a_whole_run_configures_a_new_folder_for_a_build_from_nothing(self):
        for preset, form in (("host", "HOSTED"), ("host-asan", "ON"), ("fuzz", "ON")):
            status, calls = self.preset("build", preset, FREEHCA_FEW_FILES="yes")
            self.assertEqual(0, status)
            self.assertEqual(
                [
                    f"cmake --preset {preset} -D FREEHCA_FEW_FILES={form}",
                    f"cmake --build --preset {preset}",
                ],
                calls,
            )

    def test_any_other_run_and_a_folder_that_exists_keep_their_form(self):
        _, calls = self.preset("build", "host")
        self.assertEqual("cmake --preset host", calls[0])
        for preset, folder in (("host", "host"), ("host-asan", "host-clang-asan")):
            cache = self.folder / "tree" / "build" / folder / "CMakeCache.txt"
            cache.parent.mkdir(parents=True)
            cache.touch()
            _, calls = self.preset("build", preset, FREEHCA_FEW_FILES="yes")
            self.assertEqual(f"cmake --preset {preset}", calls[0])

    def test_a_build_that_fails_is_one_failed_test_and_says_so(self):
        for failing in ("--preset host", "--build"):
            status, _ = self.preset("build", "host", "one", "two", failing=failing)
            self.assertEqual(RECORDED, status)
        self.assertEqual([("failed", "host: build of one two")] * 2, self.recorded())

    def test_the_status_of_ctest_is_kept(self):
        for failing, status in (("none", "0"), ("--preset", "9")):
            self.assertEqual(0, self.preset("test", "host", "unit", failing=failing)[0])
            kept = (self.folder / "results" / "host-unit.status").read_text()
            self.assertEqual(status, kept.strip())


if __name__ == "__main__":
    unittest.main()
