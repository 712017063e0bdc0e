# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""./dev bare says what it takes, and nothing of how it is written."""
import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class BareOptions(unittest.TestCase):
    def test_help_is_the_usage_and_no_more(self):
        for word in ("--help", "-h"):
            done = subprocess.run(
                ["/bin/bash", str(ROOT / "dev.d/bare.sh"), word],
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
                env={**os.environ, "FREEHCA_ROOT": str(ROOT), "FREEHCA_LOGS": "/dev/null/none"},
            )
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            self.assertTrue(done.stdout.startswith("bare.sh [ARCHITECTURE|BOARD]"), done.stdout)
            self.assertTrue(done.stdout.endswith("Options: tests/bare/boot.py.\n"), done.stdout)


if __name__ == "__main__":
    unittest.main()
