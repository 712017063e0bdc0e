# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The programs of others that run on the driver: how each is started, and what it has to send.

A pair is two processes: the server, and a client that is told where the server is. SIZE and COUNT
in its words are replaced by each size of the case and by the number of messages for that size.
"""
import typing

import packets


class Traffic(typing.NamedTuple):
    """What a run of `count` messages of `size` bytes has to put on the wire."""

    operations: typing.Sequence[int]
    service: str = "rc"
    by_server_too: bool = False  # both ends send the same
    answers: bool = False  # the data comes back: read requests
    queues: int = 1
    mtu: int = 2048  # what perftest chooses for the part 4103
    more: int = 0  # messages that may come besides: those under way when the last one is counted


class Pair(typing.NamedTuple):
    name: str
    command: str
    sizes: typing.Sequence[int] = (64, 65536)
    traffic: typing.Optional[Traffic] = None
    long_sizes: typing.Sequence[int] = ()  # in the tier long, besides
    tier: str = "programs"
    reads: str = ""  # a word that the client's output has to have
    has_port: bool = True  # takes -p PORT
    root: str = ""  # the script that prints the root of another release, which has the program
    package: str = ""  # and the version of the program's package there
    # A program of ours that the command runs. It writes what payloads.py compares.
    script: str = ""
    link: str = ""  # the link layer, if it is not InfiniBand
    # Both ends have an address on this VLAN, and each RoCE frame has its tag with this priority.
    vlan: int = 0
    priority: int = 0


class Single(typing.NamedTuple):
    name: str
    command: str
    reads: typing.Sequence[str] = ()
    tier: str = "programs"
    seconds: int = 120
    link: str = ""


class Mpi(typing.NamedTuple):
    """tests/programs/mpi/exchange.c under Open MPI, whose point-to-point layer and one-sided layer
    are UCX."""

    name: str
    transport: str  # of UCX
    ranks: int
    tier: str = "programs"


class Pyverbs(typing.NamedTuple):
    """The tests of pyverbs, as Debian has them."""

    name: str
    tests: int  # that there are
    least: int  # tests that pass
    skips: str  # the file that has the reasons of all others
    root: str = ""  # the script that prints the root of another release, if it is not the system's
    version: str = ""  # of pyverbs in that root
    link: str = ""  # link layer, as for --link; empty: the default
    part_id: str = ""  # as for --part-id
    without: typing.Sequence[str] = ()  # files of tests that do not run
    names: str = ""  # the file that has the names of the tests that pass on mlx4_ib
    tier: str = "programs"


def later(name, command, package, **more):
    """A case with a program of Debian trixie."""
    return Pair(
        f"trixie_{name}", command, root="trixie_root.sh", package=package, tier="long", **more
    )


class Relayed(typing.NamedTuple):
    """ibv_rc_pingpong with a relay on the wire (relay_runs.py)."""

    name: str
    how: str  # what becomes of a byte of the payload: "pass", "alter" or "damage"
    tier: str = "programs"


class Names(typing.NamedTuple):
    """names_test.py with the libibverbs of another release."""

    name: str
    root: str
    version: str  # of libibverbs
    tier: str = "long"


WRITE = Traffic(packets.WRITE)
SEND = Traffic(packets.SEND)
READ = Traffic(packets.READ, answers=True)
ATOMIC = Traffic(packets.ATOMIC)
PINGPONGS_56, PERFTEST_25 = "ibverbs-utils_56.1", "perftest_25.01.0+0.80"  # of trixie
ALL_SIZES = (1, 1 << 20, 8 << 20)
PINGPONG = Traffic(packets.SEND, by_server_too=True, mtu=1024)

CASES = (
    Single("ibv_devices", "ibv_devices", reads=("freehca0",)),
    Single("ibv_devinfo", "ibv_devinfo -v", reads=("PORT_ACTIVE", "InfiniBand", "max_qp_wr")),
    Pair("ibv_rc_pingpong", "ibv_rc_pingpong -s SIZE -n COUNT", traffic=PINGPONG),
    Pair("ibv_rc_pingpong_events", "ibv_rc_pingpong -e -c -s SIZE -n COUNT", traffic=PINGPONG),
    Pair("ibv_uc_pingpong", "ibv_uc_pingpong -s SIZE -n COUNT",
         traffic=PINGPONG._replace(service="uc")),
    Pair("ibv_uc_pingpong_events", "ibv_uc_pingpong -e -s SIZE -n COUNT",
         traffic=PINGPONG._replace(service="uc")),
    Pair("ibv_ud_pingpong", "ibv_ud_pingpong -s SIZE -n COUNT", sizes=(64, 1024),
         traffic=PINGPONG._replace(service="ud")),
    Pair("ibv_ud_pingpong_events", "ibv_ud_pingpong -e -s SIZE -n COUNT", sizes=(64, 1024),
         traffic=PINGPONG._replace(service="ud")),
    Pair("ibv_srq_pingpong", "ibv_srq_pingpong -q 4 -s SIZE -n COUNT",
         traffic=PINGPONG._replace(more=4)),
    Pair("ibv_srq_pingpong_events", "ibv_srq_pingpong -e -q 4 -s SIZE -n COUNT",
         traffic=PINGPONG._replace(more=4)),
    Pair("ib_write_bw", "ib_write_bw -s SIZE -n COUNT", traffic=WRITE, long_sizes=ALL_SIZES),
    Pair("ib_write_lat", "ib_write_lat -s SIZE -n COUNT",
         traffic=WRITE._replace(by_server_too=True), long_sizes=ALL_SIZES),
    Pair("ib_read_bw", "ib_read_bw -s SIZE -n COUNT", traffic=READ, long_sizes=ALL_SIZES),
    Pair("ib_read_lat", "ib_read_lat -s SIZE -n COUNT", traffic=READ, long_sizes=ALL_SIZES),
    Pair("ib_send_bw", "ib_send_bw -s SIZE -n COUNT", traffic=SEND, long_sizes=ALL_SIZES),
    Pair("ib_send_lat", "ib_send_lat -s SIZE -n COUNT",
         traffic=SEND._replace(by_server_too=True), long_sizes=ALL_SIZES),
    Pair("ib_atomic_bw", "ib_atomic_bw -n COUNT", sizes=(8,), traffic=ATOMIC),
    Pair("ib_atomic_lat", "ib_atomic_lat -n COUNT", sizes=(8,), traffic=ATOMIC),
    Pair("ib_write_bw_uc", "ib_write_bw -c UC -s SIZE -n COUNT",
         traffic=WRITE._replace(service="uc"), long_sizes=ALL_SIZES),
    Pair("ib_send_bw_uc", "ib_send_bw -c UC -s SIZE -n COUNT",
         traffic=SEND._replace(service="uc"), long_sizes=ALL_SIZES),
    Pair("ib_send_bw_ud", "ib_send_bw -c UD -s SIZE -n COUNT", sizes=(64, 2048),
         traffic=SEND._replace(service="ud")),
    Pair("ib_send_lat_ud", "ib_send_lat -c UD -s SIZE -n COUNT", sizes=(64, 2048),
         traffic=SEND._replace(service="ud", by_server_too=True)),
    Pair("ib_send_bw_events", "ib_send_bw -e -s SIZE -n COUNT", traffic=SEND),
    Pair("ib_write_lat_inline", "ib_write_lat -I 64 -s SIZE -n COUNT", sizes=(64,),
         traffic=WRITE._replace(by_server_too=True)),
    Pair("ib_send_lat_inline", "ib_send_lat -I 64 -s SIZE -n COUNT", sizes=(64,),
         traffic=SEND._replace(by_server_too=True)),
    Pair("ib_write_bw_64_queues", "ib_write_bw -q 64 -s SIZE -n COUNT",
         traffic=WRITE._replace(queues=64)),
    Pair("ib_write_bw_both_ways", "ib_write_bw -b -s SIZE -n COUNT",
         traffic=WRITE._replace(by_server_too=True)),
    Pair("ib_read_bw_both_ways", "ib_read_bw -b -s SIZE -n COUNT", traffic=None),
    Pair("ib_send_bw_both_ways", "ib_send_bw -b -s SIZE -n COUNT",
         traffic=SEND._replace(by_server_too=True)),
    Pair("seeded_writes", "/usr/bin/python3 -B seeded_writes.py -s SIZE -n COUNT", (5001, 65536),
         traffic=WRITE, script="seeded_writes.py"),
    Single("ibv_devinfo_roce", "ibv_devinfo -v", link="roce",
           reads=("PORT_ACTIVE", "Ethernet", "GID[  3]", "RoCE v2")),
    *(
        # The GIDs are the link-local one by v1 and v2, and that of the IP address by v1 and v2.
        Pair(f"{program}_roce_gid_{gid}", f"{program} -g {gid} -s SIZE -n COUNT", sizes=sizes,
             link="roce")
        for program, sizes in (("ibv_rc_pingpong", (64, 65536)), ("ibv_uc_pingpong", (65536,)),
                               ("ibv_ud_pingpong", (64, 1024)), ("ibv_srq_pingpong", (64,)))
        for gid in (0, 1, 2, 3)
    ),
    *(
        # The address on the VLAN by v1 and v2. The service level is the priority.
        Pair(f"{program}_vlan_gid_{gid}", f"{program} -g {gid} -l 3 -s SIZE -n COUNT",
             sizes=(64,), link="roce", vlan=100, priority=3)
        for program in ("ibv_rc_pingpong", "ibv_ud_pingpong")
        for gid in (4, 5)
    ),
    *(
        Pair(f"{name}_roce", f"{command} -x 3 -s SIZE -n COUNT", sizes=sizes, link="roce")
        for name, command, sizes in (
            ("ib_send_bw", "ib_send_bw", (64, 65536)), ("ib_write_bw", "ib_write_bw", (65536,)),
            ("ib_write_lat", "ib_write_lat", (64,)), ("ib_read_bw", "ib_read_bw", (65536,)),
            ("ib_send_bw_ud", "ib_send_bw -c UD", (64, 1024)))
    ),
    *(
        Pair(f"qperf_{test}", f"qperf -t 1 -m SIZE {test}", sizes=(64,), has_port=False, reads=word)
        for test, word in (("rc_lat", "latency"), ("rc_bw", "bw"), ("uc_lat", "latency"),
                           ("ud_lat", "latency"), ("rc_rdma_write_bw", "bw"),
                           ("rc_rdma_read_lat", "latency"))
    ),
    *(
        Pair(f"ucx_{test}_{transport}_{layout}",
             f"ucx_perftest -d freehca0:1 -x {transport} -t {test} -D {layout} -s SIZE -n COUNT -w 1",
             sizes=sizes, reads="Final:")
        for test, transport, layout, sizes in (
            ("put_lat", "rc_verbs", "short", (8, 64)), ("put_bw", "rc_verbs", "zcopy", (65536,)),
            ("get", "rc_verbs", "bcopy", (64, 4096)), ("get", "rc_verbs", "zcopy", (65536,)), ("am_lat", "rc_verbs", "bcopy", (64, 4096)),
            ("fadd", "rc_verbs", "short", (8,)), ("am_lat", "ud_verbs", "bcopy", (64, 1024)))
    ),
    *(
        Pair(f"ucx_tag_{transport}", "ucx_perftest -t tag_lat -s SIZE -n COUNT -w 1",
             sizes=(64, 65536), reads="Final:")
        for transport in ("rc_v", "ud_v")
    ),
    Mpi("mpi_rc_2", "rc_v", 2),
    Mpi("mpi_rc_4", "rc_v", 4),
    Mpi("mpi_ud_2", "ud_v", 2),
    Mpi("mpi_ud_4", "ud_v", 4, tier="long"),
    Pyverbs("pyverbs", tests=273, least=95, skips="pyverbs_skips.txt",
            names="pyverbs_mlx4_ib.txt"),
    # Where a port has a network device, the tests of librdmacm begin, and want its device files.
    Pyverbs("pyverbs_roce", tests=261, least=96, skips="pyverbs_roce_skips.txt", link="roce",
            names="pyverbs_mlx4_ib_roce.txt", without=("test_rdmacm.py", "test_mlx5_rdmacm.py")),
    # A part of which pyverbs knows no defect, so that it takes GIDs of RoCE v2. It would also make
    # rules by fields of IP that mlx4_ib refuses (test_flow.py, on which two others rely), and does
    # not move RSS queue pairs to RTR (test_rss_traffic.py).
    Pyverbs("pyverbs_roce_part", tests=249, least=96, skips="pyverbs_part_skips.txt", link="roce",
            part_id="4100",
            without=("test_rdmacm.py", "test_mlx5_rdmacm.py", "test_flow.py",
                     "test_mlx5_timestamp.py", "test_rss_traffic.py")),
    Pyverbs("pyverbs_56", tests=321, least=99, skips="pyverbs_56_skips.txt",
            root="trixie_root.sh", version="56.1", tier="long"),
    later("rc_pingpong", "ibv_rc_pingpong -s SIZE -n COUNT", PINGPONGS_56, traffic=PINGPONG),
    later("rc_pingpong_wr", "ibv_rc_pingpong -N -s SIZE -n COUNT", PINGPONGS_56, traffic=PINGPONG),
    later("ib_write_bw", "ib_write_bw -s SIZE -n COUNT", PERFTEST_25, traffic=WRITE),
    later("ib_read_lat", "ib_read_lat -s SIZE -n COUNT", PERFTEST_25, traffic=READ),
    later("ib_send_lat", "ib_send_lat -s SIZE -n COUNT", PERFTEST_25,
          traffic=SEND._replace(by_server_too=True)),
    later("ib_send_bw_events", "ib_send_bw -e -s SIZE -n COUNT", PERFTEST_25, traffic=SEND),
    later("ib_send_bw_ud", "ib_send_bw -c UD -s SIZE -n COUNT", PERFTEST_25, sizes=(64, 2048),
          traffic=SEND._replace(service="ud")),
    later("ib_atomic_bw", "ib_atomic_bw -n COUNT", PERFTEST_25, sizes=(8,), traffic=ATOMIC),
    *(Relayed(f"relayed_{how}", how) for how in ("pass", "alter", "damage")),
    Names("names_56", root="trixie_root.sh", version="56.1"),
)  # fmt: skip
