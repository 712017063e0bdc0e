#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""installed_tree.py ROOT BUILD COMPILER FOLDER DEVICE: installs the build into a folder, moves it,
and builds a program for each component with that alone: by find_package() in a CMake project of its
own, and by pkg-config. For vfio and vfio_user it is that of README.md. Without an adapter it says
so; on the socket of DEVICE, which is freehca-device, it writes. A program with two cores is refused
by the linker."""
import pathlib
import shlex
import shutil
import subprocess
import sys

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(freehca 0.1 REQUIRED COMPONENTS core vfio vfio_user in_process)
add_executable(write_once {program})
target_link_libraries(write_once PRIVATE freehca::vfio)
add_executable(core_user core_user.cpp)
target_link_libraries(core_user PRIVATE freehca::core)
add_executable(write_to_socket {program})
target_link_libraries(write_to_socket PRIVATE freehca::vfio_user)
add_executable(in_process_user in_process_user.cpp)
target_link_libraries(in_process_user PRIVATE freehca::in_process)
add_library(core_part OBJECT EXCLUDE_FROM_ALL core_user.cpp)
target_compile_definitions(core_part PRIVATE main=not_main)
target_link_libraries(core_part PRIVATE freehca::core)
add_executable(two_cores EXCLUDE_FROM_ALL in_process_user.cpp $<TARGET_OBJECTS:core_part>)
target_link_libraries(two_cores PRIVATE freehca::in_process)
"""
CORE_USER = """#include <freehca/easy/easy.hpp>
int main() {
  freehca::easy::adapter hca;
  return hca.open({}).is(freehca::driver_error::bad_argument) ? 0 : 1;
}
"""
IN_PROCESS_USER = """#include <freehca/blocking/in_process_host.hpp>
#include <freehca/blocking/session.hpp>
using namespace freehca;
int main() {
  blocking::in_process_host host;
  blocking::session session(host);
  if (!session.open().ok() || !session.wait(session.adapter().bring_up()).ok()) return 1;
  const bool has_ports = session.adapter().hardware().info().ports == 2;
  return session.tear_down().ok() && has_ports ? 0 : 1;
}
"""
TWO_CORES = "freehca_core_was_built_with_another_access_flavour"
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


def expect_no_sockets(program):
    done = subprocess.run([program, "/nowhere"], capture_output=True, text=True, check=False)
    if done.returncode != 1 or "freehca::vfio_user" not in done.stderr:
        sys.exit(f"{program} /nowhere: status {done.returncode}: {done.stdout}{done.stderr}")


def expect_writes(program, device, socket):
    """A socket is named by its path, or as what it is."""
    with subprocess.Popen(
        [device, "--socket", socket], stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            while "ready" not in (line := server.stderr.readline()):
                if not line:
                    sys.exit("freehca-device ended")
            for address in (str(socket), f"vfio-user:{socket}"):
                if (said := run([program, address])) != "64 bytes: ok\n":
                    sys.exit(f"{program} {address}: {said}")
        finally:
            server.terminate()


def main():
    root, build, compiler = sys.argv[1:4]
    folder, device = pathlib.Path(sys.argv[4]), sys.argv[5]
    shutil.rmtree(folder, ignore_errors=True)
    run(["cmake", "--install", build, "--prefix", folder / "first"])
    tree = (folder / "first").rename(folder / "moved")
    program = f"{root}/examples/write_once/main.cpp"

    project = folder / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(PROJECT.format(program=program), encoding="utf-8")
    (project / "core_user.cpp").write_text(CORE_USER, encoding="utf-8")
    (project / "in_process_user.cpp").write_text(IN_PROCESS_USER, encoding="utf-8")
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
    expect_no_sockets(project / "build/write_once")
    run([project / "build/core_user"])
    expect_no_device(project / "build/write_to_socket")
    expect_writes(project / "build/write_to_socket", device, folder / "adapter")
    run([project / "build/in_process_user"])
    refused = subprocess.run(
        ["cmake", "--build", project / "build", "--target", "two_cores"],
        capture_output=True,
        text=True,
        check=False,
    )
    if refused.returncode == 0 or TWO_CORES not in refused.stdout + refused.stderr:
        sys.exit(f"two cores in one program: {refused.stdout}{refused.stderr}")

    tool = shutil.which("pkg-config") or shutil.which("pkgconf")
    if tool is None:
        print("pkg-config is missing")
        sys.exit(77)
    [configured] = {p.parent for p in tree.rglob("freehca-*.pc")}
    for package, source, name in (
        ("freehca-vfio", program, "by_pkg_config"),
        ("freehca-core", project / "core_user.cpp", "core_by_pkg_config"),
        ("freehca-vfio-user", program, "socket_by_pkg_config"),
        ("freehca-in-process", project / "in_process_user.cpp", "in_process_by_pkg_config"),
    ):
        with_path = {"PKG_CONFIG_PATH": str(configured), "PATH": "/usr/bin:/bin"}
        flags = shlex.split(run([tool, "--cflags", "--libs", package], env=with_path))
        run([compiler, "-std=c++20", "-o", folder / name, source, *flags])
    expect_no_device(folder / "by_pkg_config")
    run([folder / "core_by_pkg_config"])
    expect_no_device(folder / "socket_by_pkg_config")
    expect_writes(folder / "socket_by_pkg_config", device, folder / "adapter")
    run([folder / "in_process_by_pkg_config"])
    print("built by find_package() and by pkg-config")


main()
