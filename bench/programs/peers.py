# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What the figures of the face are compared with: plain shared memory, memcpy(), UCX over TCP."""
import pathlib
import subprocess
import tempfile

import processes

MIB = 1 << 20
COLD_MIB = 1024  # both halves of what "cold" copies between, above all caches


def ping_pong(build):
    """Microseconds: half a round trip of 64 bytes through shared memory, both sides polling."""
    program = build / "freehca_bench_ping_pong"
    folder = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.truncate(4096)
        client, server = ([program, role, file.name, 200_000] for role in ("ping", "pong"))
        return float(processes.pair(server, client)) / 1000


def copy(build, size):
    """{"hot": bytes a second, "cold": the same} of memcpy(), on the first of both processors."""
    command = processes.pinned(
        processes.processors()[0], [build / "freehca_bench_copy", size, COLD_MIB]
    )
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name: float(rate) for name, rate in (line.split() for line in run.stdout.splitlines())}


def ucx(test, size, iterations):
    """(typical microseconds, bytes a second) of a test of ucx_perftest over TCP on loopback."""
    port = processes.free_port()
    server = ["ucx_perftest", "-p", port]
    what = ["-t", test, "-s", size, "-n", iterations, "-w", iterations // 10, "-f"]
    client = ["ucx_perftest", "localhost", "-p", port, *what]
    tcp = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo", "UCX_WARN_UNUSED_ENV_VARS": "n"}
    text = processes.pair(server, client, port, tcp)
    # Iterations; latency: typical, average, overall; MB/s: average, overall; messages a second.
    last = [line.split() for line in text.splitlines() if line.strip()][-1]
    return float(last[1]), float(last[7]) * size
