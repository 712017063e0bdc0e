#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""run_programs.py LAUNCHER [--tier programs|long] [NAME...]: runs the programs of others
(programs.py) on the driver, each with a fabric of its own, as an ordinary user without
capabilities.

Of a case with traffic, the captures of both processes are decoded by tshark. The packets with
distinct PSNs and their payload have to be those that follow from size, MTU and number of messages;
packets that were sent again are counted apart. Both captures have to hold the same packets, and the
counters of both adapters have to agree with them.

Results go to FREEHCA_RESULTS/own.tsv; without it the exit status tells.
"""
import argparse
import atexit
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import packets
import payloads
import pyverbs_runs
import relay_runs
import roots
import traces
from expectations import Failed, expect
from program_process import NOBODY, AsRoot, InRoot, Process, free_port, listens
from programs import CASES, Mpi, Names, Pair, Pyverbs, Relayed

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = "lib/freehca/libfreehca-verbs.so"  # beside the launcher's folder, where it is installed


def messages(size):
    return 300 if size <= 4096 else 60 if size <= 65536 else 10


def is_expected(found, traffic, size, count):
    """Whether one end has sent these messages (or got them, where the data comes back). The last
    one of those that may come besides may be cut off, by the end of a process."""
    per_message = max(1, -(-size // traffic.mtu))
    if traffic.operations == packets.ATOMIC:
        size = 0
    least = count * traffic.queues
    most = least + traffic.more
    return (
        least * per_message <= found.packets <= most * per_message
        and least * size <= found.payload <= most * size
    )


def check_traffic(case, size, count, server, client):
    found = {}
    for end in (server, client):
        lid = own_lid(end)
        found[end] = list(packets.packets_of(end.capture, lid))
        expect(found[end], f"the capture of the {end.path.name} is empty")
    service = case.traffic.service
    senders = (client, server) if case.traffic.by_server_too else (client,)
    for sender in senders:
        receiver = server if sender is client else client
        operations, sent = case.traffic.operations, True
        if case.traffic.answers:
            operations, sent = packets.READ_ANSWER, False
        mine = packets.count(found[sender], operations, sent, service)
        expect(
            is_expected(mine, case.traffic, size, count),
            f"{sender.path.name}: {mine.packets} packets with {mine.payload} bytes (and "
            f"{mine.repeats} repeats) for {count} messages of {size} bytes",
        )
        theirs = packets.count(found[receiver], operations, not sent, service)
        expect(
            (theirs.packets, theirs.payload) == (mine.packets, mine.payload)
            or (case.traffic.more and is_expected(theirs, case.traffic, size, count)),
            f"{receiver.path.name}: {theirs.packets} packets with {theirs.payload} bytes came, "
            f"{mine.packets} with {mine.payload} were sent",
        )
    for end in (server, client):
        sent = sum(packet.sent for packet in found[end])
        expect(
            end.counter("port1_packets_sent") == sent,
            f"{end.path.name}: the adapter counts {end.counter('port1_packets_sent')} packets, "
            f"its capture {sent}",
        )


def own_lid(end):
    """The LID that the program wrote, or that the counters' file names."""
    return end.counter("lid")


def in_root(case, launcher, folder, fabric):
    """A function that starts a program of the case's root, with the files that a launcher asks
    for."""
    root = roots.root_by(case.root, case.package)

    def start(name, words):
        files = {
            "FREEHCA_CAPTURE": f"/mnt/{name}.pcap",
            "FREEHCA_COUNTERS": f"/mnt/{name}.counters",
        }
        library = library_of(launcher)
        return InRoot(
            folder, name, roots.words_on_driver(root, library, folder, fabric, words, files)
        )

    return start


def on_vlan(case, host):
    """The arguments of a Process with an address on the case's VLAN, if it has one."""
    return {"options": ("--vlan", f"{case.vlan}=192.0.2.{host}")} if case.vlan else {}


def check_tags(case, count, server, client):
    for end in (server, client):
        tags = list(packets.tags_of(end.capture))
        expect(len(tags) >= 2 * count, f"{end.path.name}: {len(tags)} frames of RoCE")
        wrong = set(tags) - {(case.vlan, case.priority)}
        expect(not wrong, f"{end.path.name}: frames with these VLANs and priorities: {wrong}")


def run_pair(case, size, launcher, folder):
    count = messages(size)
    words = [
        {"SIZE": str(size), "COUNT": str(count)}.get(word, word)
        for word in shlex.split(case.command)
    ]
    port = 19765
    if case.has_port:
        port = free_port()
        words += ["-p", str(port)]
    elif words[0] == "qperf":
        port = free_port()
    environment = {}
    if case.name.startswith("ucx_tag_"):
        environment["UCX_TLS"] = case.name.removeprefix("ucx_tag_") + ",self"
    if case.script:
        shutil.copy(HERE / case.script, folder)
    fabric = f"{case.name[:20]}-{os.getpid()}"
    server_words, client_words = list(words), [*words, "localhost"]
    if words[0] == "ucx_perftest":
        server_words, client_words = list(words), [words[0], "localhost", *words[1:]]
    if words[0] == "qperf":
        server_words = ["qperf", "-lp", str(port)]
        client_words = ["qperf", "localhost", "-lp", str(port), *words[1:]]
    if case.root:
        start = in_root(case, launcher, folder, fabric)
    else:
        start = functools.partial(
            Process, launcher, folder, fabric, environment=environment, link=case.link
        )
    server = start("server", server_words, **on_vlan(case, 1))
    client = None
    try:
        listens(port, server)
        client = start("client", client_words, **on_vlan(case, 2))
        status = client.wait()
        expect(status == 0, f"the client ended with status {status}")
        if words[0] == "qperf":
            server.terminate()
        else:
            status = server.wait()
            expect(status == 0, f"the server ended with status {status}")
        expect(case.reads in client.output(), f"the client does not write '{case.reads}'")
        if case.traffic:
            check_traffic(case, size, count, server, client)
        if case.script:
            payloads.check(folder, (server, client), own_lid(client))
        if case.vlan:
            check_tags(case, count, server, client)
    finally:
        for end in (server, client):
            if end is not None:
                end.end()


def run_single(case, launcher, folder):
    one = Process(
        launcher,
        folder,
        f"{case.name[:20]}-{os.getpid()}",
        "program",
        shlex.split(case.command),
        link=case.link,
    )
    try:
        status = one.wait(case.seconds)
        expect(status == 0, f"it ended with status {status}")
        for word in case.reads:
            expect(word in one.output(), f"it does not write '{word}'")
    finally:
        one.end()


def run_mpi(case, launcher, folder):
    program = folder / "exchange"
    subprocess.run(
        ["mpicc", "-O1", "-o", str(program), str(HERE / "mpi" / "exchange.c")], check=True
    )
    command = ["mpirun", "--oversubscribe", "-n", str(case.ranks), "--mca", "pml", "ucx"]
    command += ["--mca", "osc", "ucx", "--mca", "btl", "^openib", str(program)]
    environment = {
        "UCX_TLS": f"{case.transport},self",
        "UCX_NET_DEVICES": "freehca0:1",
        "UCX_LOG_LEVEL": "info",
    }
    fabric = f"{case.name}-{os.getpid()}"
    run = Process(launcher, folder, fabric, "mpirun", command, environment, reports=False)
    try:
        status = run.wait()
        expect(status == 0, f"mpirun ended with status {status}")
        output = run.output()
        for rank in range(case.ranks):
            line = f"rank {rank} of {case.ranks}: all right"
            expect(line in output, f"no line '{line}'")
        path = {"rc_v": "rc_verbs/freehca0:1", "ud_v": "ud_verbs/freehca0:1"}[case.transport]
        expect(path in output, f"UCX names no '{path}'")
    finally:
        run.end()


def run_pyverbs(case, launcher, folder):
    fabric = f"{case.name}-{os.getpid()}"
    if case.root:
        words = pyverbs_runs.words_in_root(case, library_of(launcher), folder, fabric)
        run = InRoot(folder, "pyverbs", words)
    else:
        words = pyverbs_runs.words(pathlib.Path("/"), folder, without=case.without)
        # Some tests want root.
        options = ("--part-id", case.part_id) if case.part_id else ()
        run = AsRoot(launcher, folder, fabric, "pyverbs", words, link=case.link, options=options)
    try:
        pyverbs_runs.check(case, run.wait(300), run.output())
    finally:
        run.end()


def run_names(case, launcher, folder):
    root = roots.root_by(case.root, f"libibverbs1_{case.version}")
    theirs = list(root.glob("usr/lib/*/libibverbs.so.1"))
    expect(len(theirs) == 1, f"{len(theirs)} libibverbs.so.1 in {root}")
    with open(folder / "names.output", "wb") as output:
        words = [HERE / "names_test.py", library_of(launcher), theirs[0]]
        compared = subprocess.run(words, stdout=output, stderr=subprocess.STDOUT, check=False)
    expect(compared.returncode == 0, f"names_test.py ends with status {compared.returncode}")


OF_KIND = {Mpi: run_mpi, Pyverbs: run_pyverbs, Names: run_names, Relayed: relay_runs.run}


def runs_of(case, tier):
    """Pairs of a name and a function of launcher and folder."""
    if tier == "long" and not isinstance(case, (Names, Relayed)):
        yield f"traced_{case.name}", lambda launcher, folder: run_traced(case, launcher, folder)
    if not isinstance(case, Pair):
        run = OF_KIND.get(type(case), run_single)
        if case.tier == tier:
            yield case.name, lambda launcher, folder: run(case, launcher, folder)
        return
    sizes = case.sizes if tier == case.tier else case.long_sizes if tier == "long" else ()
    for size in sizes:
        name = case.name if len(case.sizes) == 1 else f"{case.name}_{size}"
        yield name, lambda launcher, folder, size=size: run_pair(case, size, launcher, folder)


def run_traced(case, launcher, folder):
    """The case at its smallest size, with a trace of each process."""
    Process.traced = True
    try:
        if isinstance(case, Pair):
            run_pair(case, min(case.sizes), launcher, folder)
        else:
            OF_KIND.get(type(case), run_single)(case, launcher, folder)
    finally:
        Process.traced = False
    traces.check(folder, launcher)


def library_of(launcher):
    """The library that `installed` has put beside the launcher."""
    return os.path.join(os.path.dirname(launcher), "..", LIBRARY)


def installed(launcher, folder):
    """A copy of launcher and library that every user can reach, wherever the checkout is."""
    beside = os.path.dirname(launcher)
    library = os.path.join(beside, "..", "libfreehca-verbs.so")
    relay = os.path.join(beside, "..", "..", "tests", "programs", "freehca_program_relay")
    for source, place in (
        *([(relay, "bin/freehca_program_relay")] if os.path.exists(relay) else []),
        (launcher, "bin/freehca-run"),
        (library, LIBRARY),
    ):
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    return str(folder / "bin" / "freehca-run")


def record(outcome, seconds, name, note):
    print(f"{name}: {outcome} {note}", flush=True)
    if "FREEHCA_RESULTS" not in os.environ:
        return
    with open(
        os.path.join(os.environ["FREEHCA_RESULTS"], "own.tsv"), "a", encoding="utf-8"
    ) as file:
        file.write(f"{outcome}\t{seconds:.0f}\tprograms: {name}\t{note}\n")


def chosen_runs(options):
    """Pairs of a name and a function, as runs_of()."""
    for case in CASES:
        for name, run in runs_of(case, options.tier):
            if not options.names or name in options.names or case.name in options.names:
                yield name, run
    if options.tier == "long" and not options.names:
        yield "missing_files", lambda launcher, folder: traces.check_table()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("launcher", type=os.path.abspath)
    parser.add_argument("--tier", default="programs", choices=("programs", "long"))
    parser.add_argument("--keep", action="store_true", help="keep the folders of failed runs")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    failed = 0
    os.umask(0o022)
    program = pathlib.Path(tempfile.mkdtemp(prefix="freehca-programs-installed-"))
    atexit.register(shutil.rmtree, program, ignore_errors=True)
    launcher = installed(options.launcher, program)
    for name, run in chosen_runs(options):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="freehca-programs-"))
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        began, outcome, note = time.monotonic(), "passed", ""
        try:
            run(launcher, folder)
        except Exception as why:  # pylint: disable=broad-except
            failed += 1
            outcome, note = "failed", re.sub(r"\s+", " ", str(why))
            for output in sorted(folder.glob("*.output")):
                print(f"---- {output.name}", output.read_text(errors="replace")[-2000:])
        record(outcome, time.monotonic() - began, name, note)
        if outcome == "passed" or not options.keep:
            shutil.rmtree(folder)
        else:
            print(f"kept: {folder}")
    sys.exit(1 if failed and "FREEHCA_RESULTS" not in os.environ else 0)


if __name__ == "__main__":
    main()
