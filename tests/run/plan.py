#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""plan.py RESULTS [TIER...]: runs the stages of the tiers (tests/run/stages.py), or those of a
whole run. Exit status 2: there is no such tier.

Lanes: `network` downloads, `build` compiles with all processors, `tests` tests with all of them,
`waits` has what leaves them idle for most of its time.
"""
import os
import pathlib
import signal
import sys

from stages import Runner, Stage

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "tests" / "run"
DEV = str(ROOT / "dev")
TIERS = (
    *("unit", "model", "layering", "lint", "host", "cross", "fuzz", "trixie"),
    *("qom", "bare", "guest", "programs", "long"),
)
DEFAULT = ("lint", "host", "qom", "bare", "guest", "programs")
FUZZED = ("driver", "model", "server", "client", "fabric", "face")
FUZZERS = [f"freehca_{name}_fuzz" for name in FUZZED]
PROGRAMS = ROOT / "build" / "host"
# Programs of tests that guests and runs of foreign programs need.
NEEDED_EARLY = ("guest_programs", "freehca_program_relay", "freehca_program_face")


def script(name, *arguments):
    return [str(RUN / name), *arguments]


def check(name, *command, needs=(), lane="tests", stage=None):
    """A stage that is one test: a command."""
    return Stage(stage or name, lane, script("check.sh", name, *map(str, command)), needs)


def build(name, preset, *targets, needs=("packages",)):
    return Stage(name, "build", script("preset.sh", "build", preset, *targets), needs)


# Of each tier: the groups of packages that it needs, and the names of its stages.
OF_TIER = {
    "lint": (["build", "clang", "lint"], ["lint"]),
    "host": (
        ["build", "clang", "cross", "capture", "tests", "demo", "package", "lintian"],
        [
            *("host programs", "host-asan build", "host test programs", "threads build"),
            *("fuzz build", "package", "demo vfio-user", "killed often", "host-asan tests"),
            *("host tests", "threads", "fuzz", "mutants", "features"),
        ],
    ),
    "unit": (["build", "clang", "cross", "capture", "tests"], ["host build", "unit"]),
    "model": (["build", "clang", "cross", "capture", "tests"], ["host build", "model"]),
    "layering": (["build", "clang", "cross", "capture", "tests"], ["host build", "layering"]),
    "cross": (["build", "cross"], ["cross"]),
    "fuzz": (["build", "clang"], ["fuzz build", "fuzz minutes"]),
    "trixie": ([], ["trixie"]),
    "qom": (
        ["build", "clang", "preload", "qemu_x86_64"],
        ["qemu", "host programs", "iPXE images", "sanitized model", "qom", "qom sanitized"],
    ),
    "bare": (
        ["build", "cross", "lwip", "preload", "qemu_x86_64", "qemu_aarch64", "qemu_riscv64"],
        ["qemu", "qemu others", "bare images", "bare"],
    ),
    "guest": (
        ["build", "lwip", "preload", "qemu_x86_64", "guest", "capture"],
        ["guest image", "qemu", "host programs", "bare images x86_64", "guest"],
    ),
    "programs": (["build", "programs", "capture"], ["host programs", "programs"]),
    "long": (
        [
            *("build", "clang", "cross", "lwip", "guest", "capture", "programs", "trace", "dpdk"),
            *("preload", "qemu_x86_64", "qemu_aarch64", "qemu_riscv64"),
        ],
        [
            *("guest image", "qemu", "qemu others", "host programs", "bare images x86_64"),
            *("host test programs", "fuzz build", "cross", "trixie", "incoherent images"),
            *("fuzz minutes", "killed very often", "incoherent", "long", "model page"),
            "model reloads",
            *("threads build", "threads minutes", "programs at length", "release", "all mutants"),
            *("demo vfio-user, built", "all features"),
            *("headers alone g++", "headers alone clang++", "sources alone", "core alone"),
        ],
    ),
}


def all_stages(tiers):
    """Every stage there is; the order is that in which a lane takes them. What stands before it in
    the lane `build` is what tests wait for longest."""
    # The images of a bare-metal tier have those of the guest's other end among them.
    other_end = "bare images" if "bare" in tiers else "bare images x86_64"
    guests = ("qemu", "guest image", "host programs", other_end)
    device = PROGRAMS / "vfio_user" / "freehca-device"
    hcactl = PROGRAMS / "vfio_host" / "hcactl-vfio-user"
    killed_often = ROOT / "tests" / "vfio_user" / "killed_often.py"
    mutants = ROOT / "tests" / "mutants" / "mutants.py"
    taken_away = ROOT / "tests" / "features" / "taken_away.py"
    driver_tests = PROGRAMS / "tests" / "model" / "driver" / "freehca_driver_tests"
    model_tests = PROGRAMS / "tests" / "model" / "freehca_model_tests"
    thread_tests = ROOT / "build" / "host-clang-tsan" / "tests" / "threads" / "freehca_thread_tests"
    return [
        check("guest: image", DEV, "guest", "--prepare",
              needs=["packages"], lane="network", stage="guest image"),
        Stage("iPXE images", "network", script("ipxe_images.sh"), ["packages"]),
        check("trixie: the glue compiles", ROOT / "qemu/build/check_trixie.sh",
              needs=["packages"], lane="network", stage="trixie"),
        check("qemu: the device", DEV, "qemu", needs=["packages"], lane="build", stage="qemu"),
        build("host build", "host", "all", "tests/all"),
        build("host programs", "host", "all", *NEEDED_EARLY),
        Stage("qemu others", "build", script("qemu_others.sh"), ["qemu"]),
        Stage("bare images x86_64", "build", script("bare_images.sh", "x86_64"), ["packages"]),
        Stage("bare images", "build", script("bare_images.sh"), ["packages"]),
        Stage("incoherent images", "build", script("bare_images.sh", "aarch64-incoherent"),
              ["packages"]),
        build("sanitized model", "host-asan", "freehca_model"),
        build("host-asan build", "host-asan"),
        check("package: contents, programs, lintian", RUN / "package.py",
              needs=["host programs"], lane="build", stage="package"),
        check("demo: vfio-user, built", "env", "MESSAGES=10", DEV, "demo", "--vfio-user",
              needs=["packages"], lane="build", stage="demo vfio-user, built"),
        build("host test programs", "host", "tests/all", needs=["host programs"]),
        build("threads build", "host-tsan"),
        build("fuzz build", "fuzz", *FUZZERS),
        Stage("cross", "build", script("cross.sh"), ["packages"]),
        check("release: -O3 compiles without warnings", RUN / "release.sh",
              needs=["packages"], lane="build", stage="release"),
        Stage("lint", "tests", script("lint.sh"), ["packages"]),
        Stage("qom", "tests", script("qom.sh"), ["qemu", "host programs", "iPXE images"]),
        Stage("qom sanitized", "tests", script("qom_sanitized.sh"),
              ["qemu", "host programs", "sanitized model"]),
        Stage("programs", "waits", script("programs.sh"), ["host programs"]),
        Stage("programs at length", "tests", script("programs.sh", "long"), ["host programs"]),
        Stage("guest", "tests", [str(ROOT / "tests/guest/run_cases.py"), "guest"], guests),
        Stage("host-asan tests", "tests", script("preset.sh", "test", "host-asan"),
              ["host-asan build"]),
        Stage("host tests", "tests", script("preset.sh", "test", "host"), ["host test programs"]),
        *(Stage(tier, "tests", script("preset.sh", "test", "host", tier), ["host build"])
          for tier in ("unit", "model", "layering")),
        Stage("threads", "tests", script("preset.sh", "test", "host-tsan", "threads"),
              ["threads build"], {"FREEHCA_SECONDS": "20"}),
        # An operation that is lost shows as a test that does not end.
        check("threads: a minute, and another with ten resets", "timeout", 900, "env",
              "FREEHCA_SECONDS=60", thread_tests, "--gtest_filter=owners_on_threads.move*",
              needs=["threads build"], stage="threads minutes"),
        Stage("fuzz", "tests", script("fuzz.sh", "30"), ["fuzz build"]),
        Stage("fuzz minutes", "tests", script("fuzz.sh", "60"), ["fuzz build"]),
        check("mutants: two", mutants, "--draw", 2,
              needs=["host test programs"], stage="mutants"),
        check("mutants: all", mutants, "--all",
              needs=["host test programs"], stage="all mutants"),
        check("features: five taken away", taken_away, driver_tests, "--draw", 5,
              needs=["host test programs"], stage="features"),
        check("features: all taken away", taken_away, driver_tests,
              needs=["host test programs"], stage="all features"),
        Stage("long", "tests", [str(ROOT / "tests/guest/run_cases.py"), "long"], guests),
        *(check(f"layering: headers alone, {compiler}",
                "python3", ROOT / "tests/layering/headers_alone.py", ROOT, compiler,
                needs=["packages"], stage=f"headers alone {compiler}")
          for compiler in ("g++", "clang++")),
        check("layering: the core alone, all",
              "python3", ROOT / "tests/layering/core_stands_alone.py", ROOT, ROOT / "build/core",
              *(f"{compiler}.{built}" for compiler in ("g++", "clang++")
                for built in ("release", "debug")),
              "aarch64-linux-gnu-g++.release", "riscv64-linux-gnu-g++.release",
              needs=["packages"], stage="core alone"),
        check("layering: sources alone, all",
              "python3", ROOT / "tests/layering/sources_alone.py", PROGRAMS, "--all",
              needs=["host test programs"], stage="sources alone"),
        check("model page: whole", ROOT / "tests/model/model_page.py", model_tests, "--whole",
              needs=["host test programs"], stage="model page"),
        check("model: 10,000 runs with reloads of its state",
              PROGRAMS / "tests" / "fuzz" / "freehca_model_reloads", 10000, "-",
              ROOT / "tests/fuzz/model_inputs",
              needs=["host test programs"], stage="model reloads"),
        check("demo: vfio-user", "env", "MESSAGES=10", f"FREEHCA_DEMO_BUILD={PROGRAMS}",
              DEV, "demo", "--vfio-user",
              needs=["host programs"], lane="waits", stage="demo vfio-user"),
        check("vfio-user: both ends are killed", killed_often, device, hcactl, 5,
              needs=["host programs"], lane="waits", stage="killed often"),
        check("vfio-user: both ends are killed often", killed_often, device, hcactl,
              needs=["host programs"], lane="waits", stage="killed very often"),
        Stage("bare", "waits", script("bare.sh"), ["bare images", "qemu", "qemu others"]),
        Stage("incoherent", "waits", script("bare.sh", "aarch64-incoherent"),
              ["incoherent images", "qemu others"]),
    ]  # fmt: skip


def stages_of(tiers, whole):
    """The plan. `whole`: a run of all that continuous integration runs."""
    groups, names = {"script"}, set()
    for tier in tiers:
        more_groups, more_names = OF_TIER[tier]
        groups.update(more_groups)
        names.update(more_names)
    if "bare images" in names:
        names.discard("bare images x86_64")
    # One build of the host preset, not two side by side.
    if "host build" in names and "host programs" in names:
        names.add("host test programs")
    stages = [Stage("packages", "network", script("install.sh", *sorted(groups)))]
    for stage in all_stages(tiers):
        if stage.name not in names:
            continue
        if whole and stage.lane == "build":
            # A whole run begins with compiling everything (cmake/few_files.cmake).
            stage.environment["FREEHCA_FEW_FILES"] = "yes"
        stages.append(stage)
    return stages


def end_on_signals():
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))


def main():
    results, *tiers = sys.argv[1:]
    for tier in tiers:
        if tier not in TIERS:
            print(f"test: no tier '{tier}'; there are: {' '.join(TIERS)}", file=sys.stderr)
            return 2
    end_on_signals()
    try:
        Runner(stages_of(tiers or DEFAULT, whole=not tiers), results).run()
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
