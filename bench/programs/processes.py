# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Pairs of processes that measure something between them, each on a processor of its own."""
import contextlib
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

LIMIT = 180  # seconds for a pair


def processors():
    """The two processors that all pairs are pinned to."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        sys.exit("bench programs: needs two processors, and may use one")
    return usable[:2]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    """Whether a process of this machine listens at a TCP port."""
    entry = re.compile(rf"^ *\d+: [0-9A-F]+:{port:04X} [0-9A-F]+:0000 0A ", re.MULTILINE)
    return any(
        entry.search(table.read_text(encoding="ascii"))
        for table in map(pathlib.Path, ("/proc/net/tcp", "/proc/net/tcp6"))
        if table.exists()
    )


def pinned(processor, command):
    return ["taskset", "-c", str(processor), *map(str, command)]


def pair(server, client, port=None, environment=None):
    """Runs both commands, the client once the server listens at the port, if there is one. Returns
    what the client printed. A failure of either one ends this program."""
    environment = {**os.environ, **(environment or {})}
    first, second = processors()
    with tempfile.TemporaryFile("w+") as heard, tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen(
            pinned(first, server), stdout=heard, stderr=subprocess.STDOUT, env=environment
        ) as other:
            try:
                end = time.monotonic() + LIMIT
                while port is not None and not listens(port):
                    if other.poll() is not None or time.monotonic() > end:
                        raise subprocess.SubprocessError("the server does not listen")
                    time.sleep(0.05)
                subprocess.run(
                    pinned(second, client),
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    check=True,
                    timeout=LIMIT,
                )
                with contextlib.suppress(subprocess.TimeoutExpired):
                    other.wait(10)
            except subprocess.SubprocessError as problem:
                for file, name in ((heard, "server"), (said, "client")):
                    file.seek(0)
                    print(f"{name}: {file.read()[-2000:]}", file=sys.stderr)
                sys.exit(f"bench programs: {problem}")
            finally:
                other.kill()
        said.seek(0)
        return said.read()
