# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""How the build is configured by a user, and by our presets: the build type that nobody named, and
whether a warning is an error."""
import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def configured(*options):
    """The build type in the cache, and the compiler's command for a source of the core."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "-DFREEHCA_TESTS=OFF", *options],
            capture_output=True,
            text=True,
            check=True,
        )
        cache = pathlib.Path(folder, "CMakeCache.txt").read_text(encoding="utf-8")
        commands = json.loads(
            pathlib.Path(folder, "compile_commands.json").read_text(encoding="utf-8")
        )
    kind = [
        line.split("=", 1)[1] for line in cache.splitlines() if line.startswith("CMAKE_BUILD_TYPE:")
    ]
    command = [c["command"] for c in commands if c["file"].endswith("hal/src/operation.cpp")]
    return kind[0], command[0].split()


class BuildTypes(unittest.TestCase):
    def test_without_a_type(self):
        kind, command = configured()
        self.assertEqual("RelWithDebInfo", kind)
        self.assertIn("-O2", command)
        self.assertNotIn("-Werror", command)

    def test_release(self):
        kind, command = configured("-DCMAKE_BUILD_TYPE=Release")
        self.assertEqual("Release", kind)
        self.assertIn("-O3", command)
        self.assertIn("-Wall", command)
        self.assertNotIn("-Werror", command)

    def test_each_preset_of_ours_makes_warnings_errors(self):
        presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
        by_name = {p["name"]: p for p in presets["configurePresets"]}

        def value(name):
            preset = by_name[name]
            own = preset.get("cacheVariables", {}).get("FREEHCA_WERROR")
            parents = preset.get("inherits", [])
            parents = [parents] if isinstance(parents, str) else parents
            return own or next(filter(None, map(value, parents)), None)

        for name, preset in by_name.items():
            if not preset.get("hidden"):
                self.assertEqual("ON", value(name), name)
        self.assertIn("-Werror", configured("-DFREEHCA_WERROR=ON")[1])


if __name__ == "__main__":
    unittest.main()
