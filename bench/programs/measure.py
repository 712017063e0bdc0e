#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""measure.py [--runs N] [--json FILE] [--check] BUILD: prints what Debian's programs reach on the
face, beside peers that ran in turns with them, and the ratio of each figure to its peer. BUILD has
the built tree. A figure is the best of the runs. The exit status is 0, or, with --check, 1 if the
bound does not hold.
"""
import argparse
import json
import os
import pathlib
import re
import sys

import instructions
import peers
import perftest
import processes

KIB, MIB = 1 << 10, 1 << 20
BOUND = 15  # ib_send_lat at most, in half round trips of the ping-pong
# Of each size: its name, and iterations of perftest and of UCX.
SIZES = {64: ("64 B", 20_000, 20_000), 64 * KIB: ("64 KiB", 2_000, 1_000), MIB: ("1 MiB", 300, 100)}
LATENCIES = ("ib_send_lat", "ib_write_lat")
BANDWIDTHS = ("ib_write_bw", "ib_send_bw", "ib_read_bw")
PEERS = {"ib_write_bw": "ucp_put_bw", "ib_send_bw": "tag_bw", "ib_read_bw": "ucp_get"}


def run_once(run, build, keep):
    """Measures each figure once. Peers and programs take turns, so that both meet the same load."""
    keep("ping_pong", peers.ping_pong(build), min)
    for program in LATENCIES:
        figure, mtu = perftest.measure(run, program, 64, 20_000 if "send" in program else 2_000)
        keep(program, figure, min)
        keep("mtu", mtu, max)
    keep("ping_pong", peers.ping_pong(build), min)
    keep("ucp_put_lat", peers.ucx("ucp_put_lat", 64, 5_000)[0], min)
    for size, (_, iterations, for_ucx) in SIZES.items():
        for name, rate in peers.copy(build, size).items():
            keep(f"memcpy {name} {size}", rate, max)
        for program in BANDWIDTHS:
            rate = perftest.measure(run, program, size, iterations)[0] * 1e6
            keep(f"{program} {size}", rate * size, max)
            keep(f"ucx {program} {size}", peers.ucx(PEERS[program], size, for_ucx)[1], max)


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    name = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return name.group(1) if name else "a processor without a name"


def print_latencies(best, facts):
    print(f"\n64 bytes, one way; {facts}; hot cache\n")
    print(f"{'':<38} {'microseconds':>12} {'to ping-pong':>13} {'to UCX':>8}")
    rows = [
        ("ping-pong in shared memory, half a trip", "ping_pong"),
        ("ib_send_lat, t_typical", "ib_send_lat"),
        ("ib_write_lat, t_typical", "ib_write_lat"),
        ("ucx_perftest ucp_put_lat, tcp, 50 %", "ucp_put_lat"),
    ]
    for title, name in rows:
        to_peers = (best[name] / best[peer] for peer in ("ping_pong", "ucp_put_lat"))
        print("{:<39} {:>11.2f} {:>13.2f} {:>8.3f}".format(title, best[name], *to_peers))


def print_bandwidths(best, facts):
    print(f"\nBandwidths; {facts}; perftest's buffer is hot, one of the size for each process;")
    print(
        f"memcpy hot: 2 buffers of the size; cold: {peers.COLD_MIB} MiB of such buffers in turn\n"
    )
    print(
        f"{'':<12} {'size':<7} {'messages/s':>11} {'MB/s':>9}"
        f" {'to hot memcpy':>14} {'to cold':>8}  to UCX over tcp"
    )
    for size, (title, *_) in SIZES.items():
        for program in BANDWIDTHS:
            rate = best[f"{program} {size}"]
            hot, cold = (rate / best[f"memcpy {name} {size}"] for name in ("hot", "cold"))
            ucx = rate / best[f"ucx {program} {size}"]
            print(
                f"{program:<12} {title:<7} {rate / size:>11,.0f} {rate / 1e6:>9,.1f}"
                f" {hot:>14.4f} {cold:>8.4f}  {ucx:.2f} ({PEERS[program]})"
            )
        for name in ("hot", "cold"):
            rate = best[f"memcpy {name} {size}"]
            print(f"{f'memcpy {name}':<12} {title:<7} {rate / size:>11,.0f} {rate / 1e6:>9,.1f}")


def print_instructions(face, libmlx4):
    print("\nInstructions of an RDMA write of 64 bytes, by callgrind; libmlx4's are those of")
    print(
        "docs/bench-driver.md, counted in the test guest: it cannot run without a kernel's device\n"
    )
    print(f"{'':<24} {'face':>8} {'libmlx4':>8} {'ratio':>6} {'model besides':>14}")
    for call, (own, model) in face.items():
        ratio = own / libmlx4[call]
        print(f"{call:<24} {own:>8.1f} {libmlx4[call]:>8.1f} {ratio:>6.2f} {model:>14.1f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()
    run = options.build / "ibverbs" / "run" / "freehca-run"
    build = options.build / "bench" / "programs"
    face = options.build / "ibverbs" / "libfreehca-verbs.so"
    os.environ["FREEHCA_VERBS"] = str(face.resolve())
    figures = {}

    def keep(name, figure, better):
        figures.setdefault(name, (better, []))[1].append(figure)

    for number in range(options.runs):
        print(f"run {number + 1} of {options.runs}", file=sys.stderr, flush=True)
        run_once(run, build, keep)
    best = {name: better(found) for name, (better, found) in figures.items()}
    calls, libmlx4 = instructions.of_face(run, build), instructions.of_libmlx4()
    part_id, device = perftest.part(run)
    first, second = processes.processors()
    facts = f"processors {first} and {second}, MTU {best['mtu']}, part id {part_id}"
    print(f"{machine()}; {device}; the best of {options.runs}")
    print_latencies(best, facts)
    print_bandwidths(best, facts)
    print_instructions(calls, libmlx4)
    ratio = best["ib_send_lat"] / best["ping_pong"]
    holds = ratio <= BOUND
    print(
        f"\nib_send_lat is {ratio:.1f} times half a round trip of the ping-pong; the bound of"
        f" {BOUND} {'holds' if holds else 'does not hold'}"
    )
    if options.json is not None:
        report = {
            "processors": [first, second],
            "processor": machine(),
            "mtu": best["mtu"],
            "part_id": part_id,
            "runs": {name: found for name, (_, found) in figures.items()},
            "best": best,
            "instructions": {
                call: {"face": own, "model": model, "libmlx4": libmlx4[call]}
                for call, (own, model) in calls.items()
            },
            "bound": {"ratio": ratio, "most": BOUND, "holds": holds},
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 1 if options.check and not holds else 0


if __name__ == "__main__":
    sys.exit(main())
