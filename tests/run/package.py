#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""package.py: builds the Debian package, looks at what is in it, unpacks it into a folder, and has
its own hcactl drive its own freehca-device there, which is cabled to its own freehca-switch."""
import contextlib
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["FREEHCA_ROOT"])
PROGRAMS = ["freehca-device", "freehca-switch", "hcactl", "hcactl-record", "hcactl-vfio-user"]
WANTED = (
    [f"./usr/bin/{name}" for name in PROGRAMS]
    + [f"./usr/share/man/man1/{name}.1.gz" for name in PROGRAMS]
    + [f"./usr/share/doc/freehca/{n}" for n in ("changelog.gz", "changelog.Debian.gz", "copyright")]
    + ["./usr/share/lintian/overrides/freehca"]
)


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_contents(package):
    files = {
        line.split(maxsplit=5)[5].partition(" -> ")[0]
        for line in run("dpkg-deb", "-c", package).splitlines()
    }
    files = {name for name in files if not name.endswith("/")}
    if missing := sorted(set(WANTED) - files):
        sys.exit(f"{package} lacks {missing}")
    if more := sorted(files - set(WANTED)):
        sys.exit(f"{package} has {more} beside")
    fields = run("dpkg-deb", "-f", package, "Package", "Depends")
    if "Package: freehca\n" not in fields or any(
        name not in fields for name in ("libc6", "libfmt", "libseccomp2", "libnettle8")
    ):
        sys.exit(f"{package}: {fields}")


@contextlib.contextmanager
def serving(program, *options):
    """The program, once it is ready; it shall end as it is asked to."""
    with subprocess.Popen([program, *options], stderr=subprocess.PIPE, text=True) as server:
        try:
            while "ready" not in (line := server.stderr.readline()):
                if not line:
                    sys.exit(f"the packaged {program.name} ended")
            yield server
        finally:
            server.terminate()
            # It may write until it ends: a closed pipe would end it by a signal.
            server.stderr.read()
    if server.returncode != 0:
        sys.exit(f"{program.name}: status {server.returncode}")


def check_programs(package, folder):
    run("dpkg-deb", "-x", package, folder / "root")
    programs = folder / "root/usr/bin"
    for name in PROGRAMS:
        run(programs / name, "--help")
    fabric, socket = folder / "fabric", folder / "adapter"
    with (
        serving(
            programs / "freehca-switch", "--listen", fabric, "--ports", "2", "--trace"
        ) as switch,
        serving(
            programs / "freehca-device", "--socket", socket, "--port1", f"stream:connect={fabric}"
        ),
    ):
        # hcactl finds the program beside it. Port 1 has no subnet manager, so port 2 moves data.
        hcactl = [programs / "hcactl", "--vfio-user", socket]
        report = run(*hcactl, "ping", "--port", "2", "--messages", "2")
        with subprocess.Popen([*hcactl, "up", "--hold"], stdout=subprocess.DEVNULL) as driver:
            come = select.select([switch.stderr], [], [], 60)[0]
            driver.terminate()
        if not come or "the link is up" not in switch.stderr.readline():
            sys.exit("the packaged freehca-switch has no link")
    if "bytes in all" not in report:
        sys.exit(report)


def check_lintian(package):
    if shutil.which("lintian") is None:
        return "lintian is not here"
    return run("lintian", "--fail-on", "error", "--allow-root", package) or "lintian: nothing"


def main():
    package = run(ROOT / "dev", "package").splitlines()[-1]
    check_contents(package)
    with tempfile.TemporaryDirectory() as folder:
        check_programs(package, pathlib.Path(folder))
    print(check_lintian(package))
    print(f"{package}: {len(WANTED)} files, its programs run")


main()
