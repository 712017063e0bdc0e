# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What ./dev bench does not understand it refuses, before it builds or boots anything."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def bench(*words):
    """Exit code, standard output, standard error. A step would fail: there is no place for its
    log."""
    done = subprocess.run(
        ["/bin/bash", str(ROOT / "dev.d/bench.sh"), *words],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "FREEHCA_ROOT": str(ROOT), "FREEHCA_LOGS": "/dev/null/none"},
    )
    return done.returncode, done.stdout, done.stderr


class BenchOptions(unittest.TestCase):
    def test_help_is_all_that_it_gives(self):
        for words in (["--help"], ["commands", "--help"], ["context_memory", "--seed", "1", "-h"]):
            with self.subTest(words):
                code, out, error = bench(*words)
                self.assertEqual((0, ""), (code, error))
                self.assertIn("--queue-pairs N", out)

    def test_what_it_does_not_understand_is_refused_by_name(self):
        for words, expected in (
            ([], "say which one"),
            (["speed"], "no measurement 'speed'"),
            (["commands", "--alive", "3"], "no option '--alive'"),
            (["commands", "3"], "no option '3'"),
            (["context_memory", "--json=x"], "no option '--json'"),
            (["commands", "--json"], "--json wants a value"),
            (["commands", "--queue-pairs", "5", "--queue-pairs=6"], "--queue-pairs is given twice"),
            (["commands", "--latency-ns=5"], "add --in-process"),
            (["driver", "--runs=10"], "--runs is a number from 1 to 9"),
            (["frames", "--runs=0"], "--runs is a number from 1 to 9"),
            (["frames", "--json", "x"], "no option '--json'"),
            (["programs", "--runs", "0"], "--runs is a number from 1 to 9"),
            (["programs", "--rounds", "3"], "no option '--rounds'"),
            (["rdma_write", "--rounds", "0"], "--rounds is a number from 1 to 99"),
        ):
            with self.subTest(words):
                code, out, error = bench(*words)
                self.assertEqual((1, ""), (code, out))
                self.assertIn(expected, error)
                self.assertEqual(1, error.count("\n"), error)

    def test_what_the_guest_is_given_is_built(self):
        for words, expected in (
            ([], {"freehca_bench_one_process"}),
            (["--device-server"], {"freehca_bench_one_process", "freehca-device"}),
        ):
            with self.subTest(words), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                # It configures, and then says which targets it is to build, and fails.
                for tool, does in (
                    ("cmake", f'echo "$*" >>{folder}/called; [ "$1" != --build ]'),
                    ("dpkg-query", "printf installed"),
                ):
                    (folder / tool).write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
                    (folder / tool).chmod(0o755)
                done = subprocess.run(
                    ["/bin/bash", str(ROOT / "dev.d/bench.sh"), "rdma_write", *words],
                    capture_output=True,
                    text=True,
                    timeout=30,
                    check=False,
                    env={
                        **os.environ,
                        "PATH": f"{folder}:{os.environ['PATH']}",
                        "FREEHCA_ROOT": str(ROOT),
                        "FREEHCA_LOGS": str(folder / "logs"),
                    },
                )
                self.assertIn("the programs do not build", done.stderr)
                built = (folder / "called").read_text(encoding="utf-8").splitlines()[-1].split()
                self.assertEqual(expected, set(built[built.index("--target") + 1 :]))


if __name__ == "__main__":
    unittest.main()
