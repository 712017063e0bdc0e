# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""./dev bare refuses a word that it does not know before it builds anything."""
import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def bare(*words):
    """Exit code, standard output, standard error. A step would fail: there is no place for its
    log."""
    done = subprocess.run(
        [str(ROOT / "dev"), "bare", *words],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "FREEHCA_LOGS": "/dev/null/none"},
    )
    return done.returncode, done.stdout, done.stderr


class BareOptions(unittest.TestCase):
    def test_each_wrong_word_is_refused_by_name(self):
        for words, expected in (
            (["sparc"], "no architecture 'sparc'"),
            (["x86_64", "golf"], "no image 'golf'"),
            (["x86_64", "bringup", "pingpong"], "unrecognized arguments: pingpong"),
            (["--mashine", "q35"], "unrecognized arguments: --mashine q35"),
            (["--machine", "toaster"], "no machine 'toaster'; there are: "),
            (["aarch64", "--machine"], "--machine: expected one argument"),
            (["--append"], "--append: expected one argument"),
            (["--build-only", "--verbose"], "unrecognized arguments: --verbose"),
            (["--verbose", "--build-only"], "unrecognized arguments: --verbose"),
            (["--verbose", "--", "-m", "1G"], "unrecognized arguments: --verbose"),
        ):
            with self.subTest(words):
                code, out, error = bare(*words)
                self.assertEqual((2, ""), (code, out), error)
                self.assertIn(expected, error)
                self.assertNotIn("configure", error)

    def test_right_words_go_on_to_the_build(self):
        for words in (
            ["--append", "x"],
            ["x86_64", "--build-only", "--append=x"],
            ["--", "-m", "1G"],
        ):
            with self.subTest(words):
                code, _, error = bare(*words)
                self.assertNotEqual(2, code)
                self.assertIn("/dev/null/none", error)


if __name__ == "__main__":
    unittest.main()
