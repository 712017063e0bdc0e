#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""installed_tree.py ROOT BUILD COMPILER FOLDER: installs the build into a folder, moves it, and
builds the program of README.md with that alone: by find_package() in a CMake project of its own,
and by pkg-config. Without an adapter the program says so."""
import pathlib
import shlex
import shutil
import subprocess
import sys

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(freehca 0.1 REQUIRED COMPONENTS core vfio)
add_executable(write_once {program})
target_link_libraries(write_once PRIVATE freehca::vfio)
add_executable(core_user core_user.cpp)
target_link_libraries(core_user PRIVATE freehca::core)
"""
CORE_USER = """#include <freehca/hca/easy.hpp>
int main() {
  freehca::easy::adapter hca;
  return hca.open({}).is(freehca::driver_error::bad_argument) ? 0 : 1;
}
"""
NO_DEVICE = "0000:ff:1f.7"


def run(command, **how):
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=False, **how
    )
    if done.returncode != 0:
        sys.exit(
            f"{shlex.join(map(str, command))}: status {done.returncode}\n"
            f"{done.stdout}{done.stderr}"
        )
    return done.stdout


def expect_no_device(program):
    done = subprocess.run([program, NO_DEVICE], capture_output=True, text=True, check=False)
    if done.returncode != 1 or f"no PCI function {NO_DEVICE}" not in done.stderr:
        sys.exit(f"{program}: status {done.returncode}: {done.stdout}{done.stderr}")


def main():
    root, build, compiler = sys.argv[1:4]
    folder = pathlib.Path(sys.argv[4])
    shutil.rmtree(folder, ignore_errors=True)
    run(["cmake", "--install", build, "--prefix", folder / "first"])
    tree = (folder / "first").rename(folder / "moved")
    program = f"{root}/examples/write_once/main.cpp"

    project = folder / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(PROJECT.format(program=program), encoding="utf-8")
    (project / "core_user.cpp").write_text(CORE_USER, encoding="utf-8")
    run(
        [
            "cmake",
            "-G",
            "Ninja",
            "-S",
            project,
            "-B",
            project / "build",
            f"-DCMAKE_PREFIX_PATH={tree}",
            f"-DCMAKE_CXX_COMPILER={compiler}",
        ]
    )
    run(["cmake", "--build", project / "build"])
    expect_no_device(project / "build/write_once")
    run([project / "build/core_user"])

    tool = shutil.which("pkg-config") or shutil.which("pkgconf")
    if tool is None:
        print("pkg-config is missing")
        sys.exit(77)
    [configured] = {p.parent for p in tree.rglob("freehca-*.pc")}
    for package, source, name in (
        ("freehca-vfio", program, "by_pkg_config"),
        ("freehca-core", project / "core_user.cpp", "core_by_pkg_config"),
    ):
        with_path = {"PKG_CONFIG_PATH": str(configured), "PATH": "/usr/bin:/bin"}
        flags = shlex.split(run([tool, "--cflags", "--libs", package], env=with_path))
        run([compiler, "-std=c++20", "-o", folder / name, source, *flags])
    expect_no_device(folder / "by_pkg_config")
    run([folder / "core_by_pkg_config"])
    print("built by find_package() and by pkg-config")


main()
