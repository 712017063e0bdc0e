#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""dev.d/private_apt.sh where several processes want the same lists at the same time."""
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
APT_GET = """#!/bin/sh
echo begins >> "$STATE/calls"
sleep 0.3
echo ends >> "$STATE/calls"
exit $(cat "$STATE/status")
"""
WANT = """set -euo pipefail
. dev.d/console.sh
. dev.d/cache.sh
. dev.d/private_apt.sh
private_apt_use some --release bookworm
private_apt_update
"""


class PrivateApt(unittest.TestCase):
    def want(self, count, status):
        """The exit statuses of so many processes, and what they did one after the other."""
        with tempfile.TemporaryDirectory() as folder:
            apt_get = os.path.join(folder, "apt-get")
            with open(apt_get, "w", encoding="utf-8") as file:
                file.write(APT_GET)
            os.chmod(apt_get, 0o755)
            with open(os.path.join(folder, "status"), "w", encoding="utf-8") as file:
                file.write(str(status))
            environment = {
                **os.environ,
                "PATH": f"{folder}:{os.environ['PATH']}",
                "STATE": folder,
                "FREEHCA_ROOT": ROOT,
                "FREEHCA_CACHE": os.path.join(folder, "cache"),
            }
            running = [
                subprocess.Popen(
                    ["bash", "-c", WANT],
                    cwd=ROOT,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
                for _ in range(count)
            ]
            for process in running:
                process.communicate()
            with open(os.path.join(folder, "calls"), encoding="utf-8") as file:
                return [process.returncode for process in running], file.read().split()

    def test_one_of_them_gets_the_lists(self):
        statuses, calls = self.want(4, 0)
        self.assertEqual(statuses, [0] * 4)
        self.assertEqual(calls, ["begins", "ends"])

    def test_after_a_failure_the_next_one_tries(self):
        statuses, calls = self.want(3, 100)
        self.assertTrue(all(status != 0 for status in statuses), statuses)
        self.assertEqual(calls, ["begins", "ends"] * 3)


if __name__ == "__main__":
    unittest.main()
