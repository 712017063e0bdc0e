# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Roots of other releases than the system's: folders with the files of their packages."""
import os
import pathlib
import subprocess

from expectations import expect

HERE = pathlib.Path(__file__).resolve().parent


def root_by(script, package):
    """The folder that the script makes or finds. It has to have this package, a name with the
    beginning of a version."""
    environment = {**os.environ, "FREEHCA_ROOT": str(HERE.parents[1])}
    made = subprocess.run(
        [HERE / script], env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    expect(made.returncode == 0, f"{script} ends with status {made.returncode}")
    root = pathlib.Path(made.stdout.splitlines()[-1])
    packages = (root / "packages.txt").read_text(encoding="utf-8")
    expect(f"{package}-" in packages, f"{root} has no {package}")
    return root


def words_in(root, folder, environment, words):
    """The command that becomes `words` in the root, as an ordinary user, with the folder as /mnt."""
    start = ["unshare", "--mount", str(HERE / "in_root.sh"), str(root), str(folder)]
    return [
        *start,
        "env",
        "-i",
        *(f"{name}={value}" for name, value in environment.items()),
        *words,
    ]
