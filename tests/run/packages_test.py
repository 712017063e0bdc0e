#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""dev.d/packages.sh where another process holds a lock of apt's, and where apt-get fails for
another reason."""
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Says what it was asked for; fails as often as "failures" says, with the words of the file "words".
APT_GET = """#!/bin/sh
echo "$@" >> "$STATE/calls"
left=$(cat "$STATE/failures")
[ "$left" -eq 0 ] && exit 0
echo $((left - 1)) > "$STATE/failures"
cat "$STATE/words"
exit 100
"""
NOT_INSTALLED = "#!/bin/sh\nexit 1\n"
AS_ROOT = '#!/bin/sh\nexec "$@"\n'
HELD = {
    "packages": "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (apt-get)",
    "lists": "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 4711 (apt-get)\n"
    "E: Unable to lock directory /var/lib/apt/lists/",
    "frontend": "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?",
}


class Packages(unittest.TestCase):
    def need(self, failures, words):
        """need() with an apt-get that fails so often: its exit status, what it said and the calls
        of apt-get."""
        with tempfile.TemporaryDirectory() as folder:

            def write(name, text):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, 0o755)

            write("apt-get", APT_GET)
            write("dpkg-query", NOT_INSTALLED)
            write("sudo", AS_ROOT)
            write("failures", str(failures))
            write("words", words + "\n")
            write("calls", "")
            run = subprocess.run(
                [
                    "bash",
                    "-c",
                    "set -euo pipefail; . dev.d/console.sh; . dev.d/packages.sh; need script",
                ],
                cwd=ROOT,
                env={
                    **os.environ,
                    "PATH": f"{folder}:{os.environ['PATH']}",
                    "STATE": folder,
                    "FREEHCA_ROOT": ROOT,
                    "FREEHCA_LOGS": os.path.join(folder, "logs"),
                    "FREEHCA_LOCK_PAUSE": "0",
                },
                capture_output=True,
                text=True,
                check=False,
            )
            with open(os.path.join(folder, "calls"), encoding="utf-8") as file:
                return run.returncode, run.stderr, file.read().splitlines()

    def test_a_lock_that_is_held_is_waited_for(self):
        for what, words in HELD.items():
            with self.subTest(what):
                status, said, calls = self.need(2, words)
                self.assertEqual(status, 0, said)
                self.assertEqual(
                    said.count(
                        "waiting for another process that installs packages: "
                        + words.splitlines()[0].removeprefix("E: ")
                    ),
                    2,
                    said,
                )
                self.assertGreaterEqual(len(calls), 3)

    def test_apt_get_waits_for_the_lock_of_the_packages_itself(self):
        status, said, calls = self.need(0, "")
        self.assertEqual(status, 0, said)
        self.assertIn("-o DPkg::Lock::Timeout=60 install -y", calls[-1])

    def test_another_failure_is_tried_once_more_and_then_told(self):
        status, said, calls = self.need(1000, "E: Unable to locate package nothing")
        self.assertEqual(status, 1)
        self.assertNotIn("waiting", said)
        self.assertIn("the packages cannot be installed; by hand: apt-get install", said)
        self.assertLessEqual(len(calls), 4)


if __name__ == "__main__":
    unittest.main()
