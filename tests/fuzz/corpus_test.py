#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""corpus_test.py REPLAY: inputs survive being packed (dev.d/fuzz_pack.py), and a program that
replays inputs refuses a path that is missing, damaged or empty: a replay of nothing is no test."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACK = ROOT / "dev.d" / "fuzz_pack.py"
REPLAY = sys.argv.pop()
HEAD = b"freehca corpus 1\n"
CORPORA = sorted((ROOT / "tests" / "fuzz").rglob("*.corpus"))


def run(*command):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )


class Corpora(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_those_of_the_tree_unpack_and_pack_to_the_same_bytes(self):
        self.assertEqual(6, len(CORPORA))
        for corpus in CORPORA:
            with self.subTest(corpus.name):
                inputs, again = self.folder / corpus.stem, self.folder / corpus.name
                for words in (("unpack", corpus, inputs), ("pack", again, inputs)):
                    done = run(sys.executable, "-B", PACK, *words)
                    self.assertEqual(0, done.returncode, done.stderr)
                self.assertEqual(corpus.read_bytes(), again.read_bytes())

    def test_what_is_damaged_is_refused(self):
        path = self.folder / "x.corpus"
        for content in (
            b"",
            b"freehca corpus 2\n\0\0\0\1x",
            HEAD + b"\0\0\0",
            HEAD + b"\0\0\0\2x",
            HEAD + b"\0\0\0\1x\xff\xff\xff\xffy",
        ):
            with self.subTest(content):
                path.write_bytes(content)
                self.assertNotEqual(0, run(sys.executable, "-B", PACK, "count", path).returncode)
                done = run(REPLAY, path)
                self.assertEqual(1, done.returncode, done.stderr)
                self.assertIn("x.corpus: ", done.stderr)

    def test_a_replay_of_nothing_is_refused(self):
        path = self.folder / "x.corpus"
        path.write_bytes(HEAD)
        (self.folder / "inputs").mkdir()
        for words in ([path], [self.folder / "inputs"], [self.folder / "absent"], []):
            with self.subTest(words):
                self.assertEqual(1, run(REPLAY, *words).returncode)

    def test_every_input_of_a_corpus_and_of_a_folder_is_run(self):
        path, inputs = self.folder / "x.corpus", self.folder / "inputs"
        path.write_bytes(HEAD + b"\0\0\0\1x\0\0\0\0")
        inputs.mkdir()
        (inputs / "one").write_bytes(b"y")
        done = run(REPLAY, inputs, path)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(["one", "x.corpus/0", "x.corpus/1", "3 inputs"], done.stdout.splitlines())


if __name__ == "__main__":
    unittest.main()
