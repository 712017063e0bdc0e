# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The files of an RDMA device that a program asks for and does not get.

The preloaded library answers for the entries of its tree. A path below these folders that it has
not goes to the kernel, and so does what passes the library by: strace sees both. Each has to be in
missing_files.txt, whatever the kernel answers: it knows nothing of the library's device. One more
kind of call reaches the kernel: of a folder of its tree, the library asks the system first.
"""
import functools
import os
import re
import subprocess

from expectations import expect
from program_process import HERE, as_user

TABLE = HERE / "missing_files.txt"
# With the PCI function that the device belongs to.
FOLDERS = ("/sys/class/infiniband", "/dev/infiniband", "/sys/devices/pciffff:00")
FOLDERS += ("/sys/bus/pci/devices/ffff:00",)
# What the library asks the system of a folder.
OF_FOLDERS = {"open", "openat", "stat", "lstat", "newfstatat", "statx", "readlink", "readlinkat"}
OF_FOLDERS |= {"access", "faccessat", "faccessat2", "getxattr", "lgetxattr", "listxattr"}
LIST = """
import os
for top in ("/sys/class/infiniband", "/sys/class/infiniband_verbs", "/dev/infiniband",
            "/sys/devices/pciffff:00"):
    for folder, _, _ in os.walk(top):
        print(folder)
"""
CALL = re.compile(r"^\d+ +(\w+)\((.*)$")
LOADED = re.compile(r'open(?:at)?\(.*/(?:libfreehca-verbs|library)\.so"')
# A string, behind the descriptor that a relative path starts from.
PATH = re.compile(r'(?:<(?P<folder>/[^>]*)>, )?"(?P<path>(?:[^"\\]|\\.)*)"')


def asked(path):
    """Pairs of system call and path of the trace that are below the folders."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        call = CALL.match(line)
        if not call or call[1].startswith("exec"):
            continue
        for found in PATH.finditer(call[2]):
            whole = os.path.normpath(os.path.join(found["folder"] or "/", found["path"]))
            if whole.startswith(FOLDERS):
                yield call[1], whole


def rows():
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line


used = set()  # rows


def is_known(path):
    found = [row for row in rows() if re.fullmatch(row, path)]
    used.update(found)
    return bool(found)


@functools.lru_cache
def folders_of_tree(launcher):
    """The folders of the tree, as a program of its own sees them."""
    words = [*as_user(), launcher, "--fabric", f"folders-{os.getpid()}", "--"]
    listed = subprocess.run(
        [*words, "/usr/bin/python3", "-B", "-c", LIST],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    folders = set(listed.stdout.split())
    expect(len(folders) > 10, f"the tree has {len(folders)} folders")
    return folders


def check(folder, launcher):
    """Of all traces of a case."""
    traces = sorted(folder.glob("*.trace"))
    expect(traces, "the case has no trace")
    own = folders_of_tree(launcher)
    missing = set()
    for path in traces:
        text = path.read_text(encoding="utf-8", errors="replace")
        expect(LOADED.search(text), f"{path.name}: the library is not loaded")
        calls = set(asked(path))
        missing.update(c for c in calls if c[0] not in OF_FOLDERS or c[1] not in own)
    unknown = [f"{call} {path}" for call, path in sorted(missing) if not is_known(path)]
    expect(not unknown, f"not in {TABLE.name}: " + ", ".join(unknown))


def check_table():
    """After all cases: each row of the table was needed."""
    unused = [row for row in rows() if row not in used]
    expect(not unused, f"{TABLE.name}: no program asks for " + ", ".join(unused))
