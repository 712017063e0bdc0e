# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Roots of other releases than the system's: folders with the files of their packages."""
import functools
import os
import pathlib
import shutil
import subprocess

from expectations import expect

HERE = pathlib.Path(__file__).resolve().parent


@functools.lru_cache
def made_by(script):
    """The folder that the script makes or finds."""
    environment = {**os.environ, "FREEHCA_ROOT": str(HERE.parents[1])}
    made = subprocess.run(
        [HERE / script], env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    expect(made.returncode == 0, f"{script} ends with status {made.returncode}")
    return pathlib.Path(made.stdout.splitlines()[-1])


def root_by(script, package):
    """The same. It has to have this package: a name with a version, without Debian's revision."""
    root = made_by(script)
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


def words_on_driver(root, library, folder, fabric, words, more=()):
    """The same with the library preloaded. `more`: pairs of further variables."""
    copy = folder / "library.so"
    if not copy.exists():
        shutil.copyfile(library, copy)
        copy.chmod(0o755)
    environment = {
        "PATH": "/usr/local/bin:/usr/bin",
        "HOME": "/tmp",
        "LD_PRELOAD": f"/mnt/{copy.name}",
        "FREEHCA_FABRIC": fabric,
        **dict(more),
    }
    return words_in(root, folder, environment, words)
