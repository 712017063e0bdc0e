# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The preloaded object in a QEMU that it was not made for: it refuses by name, and QEMU runs on
without the device."""
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import machine

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINKER = os.path.join(ROOT, "qemu", "build", "preload_objects.py")
OBJECTS = ("freehca-mlx4.so", "freehca-qtest.so")
OTHER_ID = "0123456789abcdef0123456789abcdef01234567"


class Guard(unittest.TestCase):
    def setUp(self):
        self.own = os.path.dirname(machine.BINARY)
        if not os.path.exists(f"{self.own}/inputs"):
            self.skipTest("this QEMU was patched, and nothing is preloaded into it")
        with open(f"{self.own}/inputs", encoding="utf-8") as file:
            self.headers, self.glue, self.archive, self.version, self.qemu = file.read().split()
        self.folder = tempfile.mkdtemp(prefix="freehca-guard-")
        self.addCleanup(shutil.rmtree, self.folder)

    def link(self, *options):
        """The objects, linked for what is not there."""
        out = f"{self.folder}/objects"
        words = [LINKER, "link", *options, self.headers, ROOT, self.glue, self.archive]
        subprocess.run([*words, self.version, out, self.qemu], check=True)
        return out

    def run_qemu(self, objects, *arguments, qemu=None, preloaded=""):
        names = [preloaded, *(f"{objects}/{name}" for name in OBJECTS)]
        return subprocess.run(
            [qemu or self.qemu, "-display", "none", "-nodefaults", *arguments],
            env={**os.environ, "LD_PRELOAD": ":".join(name for name in names if name)},
            input="quit\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def run_qtest(self, objects, qemu):
        return self.run_qemu(
            objects, "-M", "none", "-accel", "qtest", "-monitor", "stdio", qemu=qemu
        )

    def assert_refused(self, objects, reason, qemu=None):
        run = self.run_qemu(objects, "-M", "none", "-device", "mlx4", qemu=qemu)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("'mlx4' is not a valid device model name", run.stderr)
        for name in OBJECTS:
            self.assertRegex(
                run.stderr, f"(?m)^{re.escape(objects)}/{name}: not used: {reason}.*run ./dev qemu"
            )
        self.assertIn(f"compiled for QEMU {self.version}", run.stderr)
        # QEMU itself runs on, with nothing of the objects.
        run = self.run_qemu(objects, "-device", "help", qemu=qemu)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn('name "pci-testdev"', run.stdout)
        self.assertNotIn("mlx4", run.stdout)
        self.assertNotEqual(self.run_qtest(objects, qemu).returncode, 0)

    def test_the_qemu_it_was_made_for_has_the_device(self):
        run = self.run_qemu(self.own, "-device", "help")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn('name "mlx4"', run.stdout)
        self.assertEqual(self.run_qtest(self.own, None).returncode, 0)

    def test_another_build_identifier_is_refused(self):
        self.assert_refused(
            self.link("--build-id", OTHER_ID),
            rf"this program's build identifier is [0-9a-f]{{40}}, and not {OTHER_ID}",
        )

    def test_a_qemu_that_was_upgraded_is_refused(self):
        """The same objects, and a binary that differs from theirs in nothing but its name for
        itself."""
        notes = subprocess.run(
            ["readelf", "-n", self.qemu], check=True, capture_output=True, text=True
        ).stdout
        own_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
        with open(self.qemu, "rb") as file:
            binary = file.read()
        self.assertEqual(binary.count(bytes.fromhex(own_id)), 1)
        # QEMU looks for its modules beside itself.
        for name in ("lib", "share"):
            os.makedirs(f"{self.folder}/usr/bin", exist_ok=True)
            os.symlink(f"/usr/{name}", f"{self.folder}/usr/{name}")
        copy = f"{self.folder}/usr/bin/qemu"
        with open(copy, "wb") as file:
            file.write(binary.replace(bytes.fromhex(own_id), bytes.fromhex(OTHER_ID)))
        os.chmod(copy, 0o755)
        self.assert_refused(
            self.own, f"this program's build identifier is {OTHER_ID}, and not {own_id}", copy
        )

    def test_another_size_of_a_shared_structure_is_refused(self):
        for kind in ("DEVICE", "PCI_DEVICE", "MEMORY_REGION", "CPU"):
            with self.subTest(kind):
                name = {"MEMORY_REGION": "memory-region"}.get(kind, kind.lower().replace("_", "-"))
                objects = self.link("--define", f"MLX4_PRELOAD_FALSE_SIZE=TYPE_{kind}")
                self.assert_refused(
                    objects,
                    rf"an object of type '{name}' has \d+ bytes in this program, and had \d+",
                )
                shutil.rmtree(objects)

    def test_a_program_that_lacks_symbols_is_named(self):
        def check(*programs):
            words = [LINKER, "symbols", self.headers, ROOT, self.glue, *programs]
            return subprocess.run(words, capture_output=True, text=True, check=False)

        run = check(self.qemu)
        self.assertEqual(run.returncode, 0, run.stdout)
        run = check(self.qemu, "/bin/ls")
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stdout, "(?m)^/bin/ls does not export .*register_module_init")
        self.assertNotIn(f"{self.qemu} does not", run.stdout)

    def test_programs_that_qemu_starts_do_not_get_the_objects(self):
        for before in ("", "libm.so.6"):
            with self.subTest(before):
                path = f"{self.folder}/environment"
                arguments = (
                    "-M",
                    "none",
                    "-incoming",
                    f"exec:env >{path}.new; mv {path}.new {path}",
                )
                run = self.run_qemu(self.own, *arguments, "-monitor", "stdio", preloaded=before)
                deadline = time.monotonic() + 10
                while not os.path.exists(path) and time.monotonic() < deadline:
                    time.sleep(0.01)
                with open(path, encoding="utf-8") as file:
                    environment = file.read()
                os.remove(path)
                self.assertIn("PATH=", environment, run.stderr)
                preloaded = re.findall(r"(?m)^LD_PRELOAD=(.*)$", environment)
                self.assertEqual(preloaded, [before] if before else [])


if __name__ == "__main__":
    unittest.main()
