#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""same_objects.py ARCHITECTURE: the core and the texts in the images are those of everybody else.
Builds the tree once more without images, with the same compiler and flags, and compares archives
byte for byte with those that the images are linked with; on the host's architecture that is what
hcactl is linked with too. The linker's maps tell that the images have their core from there."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHIVES = [f"{name}/libfreehca_{name}.a" for name in ("hal", "firmware_cmds", "queues", "hca")]
TEXTS = "faces/texts/libfreehca_texts.a"
# Archives of the port, of an image and of the faces, none of which is the core's: an image need not
# have them.
BESIDE = {
    *("libfreehca_device_tree.a", "libfreehca_conformance.a", "libfreehca_texts.a"),
    *("libfreehca_network.a", "libfreehca_lwip.a"),
}
# What of a folder's cache decides how its sources are compiled.
FLAGS = re.compile(
    r"^(CMAKE_(?:BUILD_TYPE|SYSTEM_NAME|SYSTEM_PROCESSOR|TRY_COMPILE_TARGET_TYPE|CXX_COMPILER"
    r"|CXX_FLAGS\w*|EXE_LINKER_FLAGS)|FREEHCA_FEW_FILES):\w+=(.*)$",
    re.M,
)
MEMBER = re.compile(r"(libfreehca_\w+\.a)\((\S+)\)")
# An image that calls bring-up needs at least so many sources of the core, or folders of sources.
# The folders are src of the four libraries, and src/kinds and src/objects of hca.
FEWEST_MEMBERS, FEWEST_FOLDERS = 30, 6


def run(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def main():
    architecture = sys.argv[1]
    images = ROOT / f"build/bare-{architecture}"
    other = ROOT / f"build/bare-{architecture}-without-images"
    flags = FLAGS.findall((images / "CMakeCache.txt").read_text(encoding="utf-8"))
    by_folders = ("FREEHCA_FEW_FILES", "ON") in flags
    fewest = FEWEST_FOLDERS if by_folders else FEWEST_MEMBERS
    if len(flags) < 3:
        sys.exit(f"{images}/CMakeCache.txt tells of no flags")
    run(
        *("cmake", "-G", "Ninja", "-S", ROOT, "-B", other),
        *("-DFREEHCA_BARE=OFF", "-DFREEHCA_TESTS=OFF"),
        *(f"-D{name}={value}" for name, value in flags),
    )
    hosted = not any(name == "CMAKE_SYSTEM_NAME" for name, _ in flags)
    run("nice", "cmake", "--build", other, "--target", "freehca_hca", "freehca_texts")

    for archive in (*ARCHIVES, TEXTS):
        here, there = ((folder / archive).read_bytes() for folder in (images, other))
        if here != there:
            sys.exit(f"{archive} has other bytes in the images than elsewhere")
        if hosted and archive not in run("ninja", "-C", other, "-t", "inputs", "hcactl"):
            sys.exit(f"hcactl is not linked with {archive}")
    names = {pathlib.Path(archive).name for archive in ARCHIVES}
    maps = sorted((images / "images").glob("*.map"))
    for path in maps:
        text = path.read_text(encoding="utf-8")
        found = set(MEMBER.findall(text))
        found = {(archive, member) for archive, member in found if archive not in BESIDE}
        strangers = {archive for archive, _ in found} - names
        if strangers or {archive for archive, _ in found} != names or len(found) < fewest:
            sys.exit(f"{path.name}: {len(found)} members of {sorted({a for a, _ in found})}")
        if re.search(r"^ \.text.*(?:firmware_cmds|queues|hca|/hal)/src/\S+\.o(?:bj)?$", text, re.M):
            sys.exit(f"{path.name}: part of the core does not come out of an archive")
    if not maps:
        sys.exit("there is no image")
    same = f"{len(ARCHIVES)} archives of the core and that of the texts are the same"
    print(f"{architecture}: {same}, {len(maps)} images")


main()
