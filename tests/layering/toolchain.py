# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What the tests of this folder share: flags, include paths, parallel compilation, skipping."""
import concurrent.futures
import hashlib
import os
import pathlib
import random
import shutil
import subprocess
import sys

CORE = ("hal", "firmware_cmds", "queues", "hca")
# Libraries on the core, which the core does without.
FACES = ("faces/easy", "faces/interfaces", "faces/texts", "work_requests", "network")
WARNINGS = (
    "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wundef "
    "-Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Werror"
).split()
SKIPPED = 77


def need(compiler):
    if shutil.which(compiler) is None:
        print(f"SKIPPED: no {compiler} on this machine")
        sys.exit(SKIPPED)


def freestanding(compiler, *optimisation):
    """The flags of the core's libraries, in the order in which CMake gives them: then what a
    preset has compiled comes out of ccache here, and the other way round."""
    flags = "-ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics".split()
    if "clang" in compiler:
        flags.append("-D__cpp_impl_coroutine=201902L")
    if compiler.startswith("aarch64"):
        # An exchange is instructions, not a call of libgcc's.
        flags.append("-mno-outline-atomics")
    return [*optimisation, *WARNINGS, *flags, "-std=c++20"]


def includes(root, *more):
    """Of the core, and of `more` folders."""
    folders = [f"{root}/{library}/include" for library in CORE] + [
        f"{root}/hal/layouts/include",
        *more,
    ]
    return [flag for folder in folders for flag in ("-I", folder)]


def includes_of_faces(root):
    return includes(root, *(f"{root}/{library}/include" for library in FACES))


def cached(root):
    """What stands before a compiler, so that objects come out of ccache where it is installed: as
    cmake/compiler_cache.cmake has it."""
    if shutil.which("ccache") is None:
        return []
    return ["env", f"CCACHE_BASEDIR={root}", "CCACHE_NOHASHDIR=1", "CCACHE_DEPEND=1", "ccache"]


def object_command(root, compiler, flags, source, target):
    """Compiles a source with a list of what it includes, without which ccache would take it for
    another than CMake's."""
    listed = ["-MD", "-MT", target, "-MF", f"{target}.d"]
    return [*cached(root), compiler, *flags, *listed, "-o", target, "-c", str(source)]


def run_all(commands):
    """Runs them side by side; ends the program with what the first failures said."""
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1))) as pool:
        done = list(
            pool.map(
                lambda c: subprocess.run(c, capture_output=True, text=True, check=False), commands
            )
        )
    failed = [(c, d) for c, d in zip(commands, done) if d.returncode != 0]
    for command, result in failed[:3]:
        said = (result.stdout + result.stderr).splitlines()
        print(" ".join(command), *said[:20], sep="\n")
    if failed:
        sys.exit(f"{len(failed)} of {len(commands)} failed")


def drawn(things, count):
    """So many of them, by a seed that is printed: FREEHCA_SEED, or a fresh one."""
    text = os.environ.get("FREEHCA_SEED", "")
    seed = int(text, 0) if text else random.SystemRandom().randrange(1 << 32)
    print(f"FREEHCA_SEED={seed}")
    return random.Random(seed).sample(things, min(count, len(things)))


class Stamp:
    """Remembers in a file that this test passed with these inputs: compiling the same again tells
    nothing new. The inputs are the scripts of this folder, the compiler, and all files below the
    given folders."""

    def __init__(self, path, compiler, folders, *more):
        digest = hashlib.sha256(repr(more).encode())
        digest.update(
            subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
        )
        for folder in [pathlib.Path(__file__).parent, *map(pathlib.Path, folders)]:
            for file in sorted(f for f in folder.rglob("*") if f.suffix in (".hpp", ".cpp", ".py")):
                digest.update(file.as_posix().encode())
                digest.update(file.read_bytes())
        self.path = pathlib.Path(path)
        self.inputs = digest.hexdigest()

    def passed_before(self):
        """Whether these inputs passed before. It then prints again what was printed."""
        if self.path.exists():
            inputs, _, said = self.path.read_text(encoding="utf-8").partition("\n")
            if inputs == self.inputs:
                print(said + "(passed before with the same files)")
                return True
        return False

    def passed(self, said):
        print(said)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(f"{self.inputs}\n{said}\n", encoding="utf-8")
