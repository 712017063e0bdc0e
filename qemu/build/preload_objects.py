#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Makes the shared objects that give an unpatched QEMU the device `mlx4`, by LD_PRELOAD.

preload_objects.py compile HEADERS CHECKOUT FOLDER
    HEADERS is what source_headers.py made. Generates the headers that QEMU's build generates and
    compiles the glue and accel/qtest into FOLDER.
preload_objects.py link HEADERS CHECKOUT FOLDER ARCHIVE VERSION OUT PROGRAM...
    Links FOLDER's objects and the model's ARCHIVE to OUT/freehca-mlx4.so and OUT/freehca-qtest.so,
    for the QEMUs PROGRAM..., which are of the Debian version VERSION. The objects take nothing from
    a program that it does not export.
preload_objects.py symbols [--write] HEADERS CHECKOUT FOLDER PROGRAM...
    Whether qemu/qom/preload/symbols.txt lists what FOLDER's objects take from QEMU, and whether
    each PROGRAM exports it. --write: makes the list.

With --sanitize, `compile` and `link` are done by clang, with its address and undefined-behaviour
sanitizers. ARCHIVE was made with them too. QEMU is then run with clang's shared runtime library of
the address sanitizer in front of the objects.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

FLAGS = [
    "-O2",
    "-g1",
    "-fPIC",
    "-std=gnu11",
    "-D_GNU_SOURCE",
    "-D_FILE_OFFSET_BITS=64",
    "-D_LARGEFILE_SOURCE",
    "-fno-strict-aliasing",
    "-fno-common",
    "-fwrapv",
    "-Wall",
    "-Werror=implicit-function-declaration",
]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
# The guard comes between a source's constructors and QEMU: qemu/qom/preload/guard.c.
GUARDED = "-Dregister_module_init=mlx4_preload_register"
SYMBOLS = "qemu/qom/preload/symbols.txt"
GUARD = "qemu/qom/preload/guard.c"
LIBRARIES = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libglib-2.0.so.0")


def run(*words, **more):
    return subprocess.run(words, check=True, text=True, **more)


def output(*words):
    return run(*words, stdout=subprocess.PIPE).stdout


def compiler(name):
    return ["ccache", name] if shutil.which("ccache") else [name]


def flags(headers, checkout, generated):
    return [
        *FLAGS,
        f"-ffile-prefix-map={checkout}=.",
        f"-I{generated}",
        f"-I{generated}/qapi",
        f"-I{headers}/include",
        f"-I{headers}",
        f"-I{checkout}/qemu/model/include",
        *output("pkg-config", "--cflags", "glib-2.0").split(),
    ]


# ---- The headers that QEMU's build generates


def known_macros(checkout):
    """Names and values of the macros of config-host.h; the value "-" is: not defined."""
    with open(f"{checkout}/qemu/qom/preload/config.txt", encoding="utf-8") as file:
        return dict(line.split() for line in file if line.strip() and not line.startswith("#"))


def generate(headers, checkout, generated):
    os.makedirs(f"{generated}/qapi")
    os.makedirs(f"{generated}/trace")
    with open(f"{headers}/VERSION", encoding="utf-8") as file:
        version = file.read().strip()
    macros = {name: value for name, value in known_macros(checkout).items() if value != "-"}
    macros["QEMU_VERSION"] = f'"{version}"'
    numbers = version.split(".")
    for at, name in enumerate(("MAJOR", "MINOR", "MICRO")):
        macros[f"QEMU_VERSION_{name}"] = numbers[at]
    with open(f"{generated}/config-host.h", "w", encoding="utf-8") as file:
        file.writelines(f"#define {name} {value}\n" for name, value in macros.items())
    # Names of one kind of guest, which QEMU's build poisons in sources for all of them.
    with open(f"{generated}/config-poison.h", "w", encoding="utf-8"):
        pass
    schema = f"{headers}/qapi/qapi-schema.json"
    run(
        sys.executable,
        "-B",
        f"{headers}/scripts/qapi-gen.py",
        "-o",
        f"{generated}/qapi",
        "-b",
        schema,
    )
    for kind in ("h", "c"):
        words = [sys.executable, "-B", f"{headers}/scripts/tracetool.py", "--backend=log"]
        words += ["--group=hw_freehca", f"--format={kind}", f"{checkout}/qemu/qom/trace-events"]
        run(*words, f"{generated}/trace/trace-hw_freehca.{kind}")


def unknown_macros(headers, checkout, objects):
    """Macros of QEMU's configuration that an included header asks for and config.txt does not
    name."""
    asked = {}
    for object_path in objects:
        with open(object_path[:-2] + ".d", encoding="utf-8") as file:
            words = file.read().replace("\\\n", " ").split()
        for path in words:
            if not path.startswith(headers + "/") or path in asked:
                continue
            with open(path, encoding="utf-8") as file:
                conditions = re.findall(r"^\s*#\s*(?:if|elif)[^\n]*", file.read(), re.MULTILINE)
            asked[path] = set(re.findall(r"\b(?:CONFIG|HAVE)_[A-Z0-9_]+", "\n".join(conditions)))
    # A header may define one itself.
    known = known_macros(checkout).keys()
    return sorted(
        f"{name}, by {os.path.relpath(path, headers)}"
        for path, names in asked.items()
        for name in names - known
    )


def compile_command(options, generated, source, target):
    own = flags(options.headers, options.checkout, generated)
    command = [*compiler("clang"), *SANITIZE] if options.sanitize else compiler("gcc")
    return [*command, *own, "-c", source, "-o", target]


def compile_all(options):
    generated = f"{options.folder}/generated"
    generate(options.headers, options.checkout, generated)
    glue = sorted(glob.glob(f"{options.checkout}/qemu/qom/*.c"))
    jobs = [(source, "mlx4") for source in glue]
    jobs.append((f"{generated}/trace/trace-hw_freehca.c", "mlx4"))
    jobs.append((f"{options.headers}/accel/qtest/qtest.c", "qtest"))
    jobs.append((f"{options.checkout}/{GUARD}", "guard"))
    objects, commands = [], []
    for source, part in jobs:
        os.makedirs(f"{options.folder}/{part}", exist_ok=True)
        name = os.path.basename(source)[:-2]
        objects.append(f"{options.folder}/{part}/{name}.o")
        commands.append(
            compile_command(options, generated, source, objects[-1])
            + ["-MD", *([] if part == "guard" else [GUARDED])]
        )
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        done = [pool.submit(run, *words) for words in commands]
        for at, future in enumerate(concurrent.futures.as_completed(done)):
            future.result()
            print(f"[{at + 1}/{len(done)}]", flush=True)
    unknown = unknown_macros(options.headers, options.checkout, objects)
    if unknown:
        sys.exit(
            "QEMU's headers ask for parts of its configuration that qemu/qom/preload/config.txt "
            "does not name: " + "; ".join(unknown)
        )


# ---- The shared objects


def build_id(program):
    match = re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-n", program))
    return match.group(1) if match else sys.exit(f"{program} has no build identifier")


def exported(path):
    return {
        line.split()[-1].split("@")[0]
        for line in output("nm", "-D", "--defined-only", path).splitlines()
    }


def of_libraries(sanitize):
    paths = [output("gcc", f"-print-file-name={name}").strip() for name in LIBRARIES]
    if sanitize:
        paths.append(output("clang", "-print-file-name=libclang_rt.asan-x86_64.so").strip())
    return set().union(*map(exported, paths))


def taken(folder, sanitize=False):
    """The symbols that the compiled glue, accel/qtest and the guard take from QEMU."""
    objects = glob.glob(f"{folder}/*/*.o")
    wanted, own = set(), set()
    for line in output("nm", "-g", *objects).splitlines():
        words = line.split()
        if len(words) < 2 or line.endswith(":"):
            continue
        (wanted if words[-2] == "U" else own).add(words[-1])
    # The rest of the object: the model, and what is written when it is linked.
    others = ("freehca_model_", "mlx4_preload_", "_GLOBAL_OFFSET_TABLE_")
    return {name for name in wanted - own - of_libraries(sanitize) if not name.startswith(others)}


def complaints(symbols, programs):
    """A line for each program that does not export all of the symbols."""
    for program in programs:
        missing = sorted(symbols - exported(program))
        if missing:
            yield f"{program} does not export " + " ".join(missing)


def link(options):
    ids = [(os.path.basename(path), build_id(path)) for path in options.programs]
    if options.build_id:
        ids = [("a program that is not there", options.build_id)]
    wrong = list(complaints(taken(options.folder, options.sanitize), options.programs))
    if wrong:
        sys.exit("\n".join(wrong))
    scratch = f"{options.out}/link"
    os.makedirs(scratch)
    with open(f"{scratch}/programs.c", "w", encoding="utf-8") as file:
        pairs = "".join(f'  {{"{name}", "{number}"}},\n' for name, number in ids)
        file.write(
            "const struct { const char *name, *build_id; } mlx4_preload_programs[] = {\n"
            f"{pairs}  {{0, 0}}}};\n"
            f'const char mlx4_preload_version[] = "{options.version}";\n'
        )
    with open(f"{scratch}/exports", "w", encoding="utf-8") as file:
        file.write("{ local: *; };\n")
    run("gcc", "-fPIC", "-c", f"{scratch}/programs.c", "-o", f"{scratch}/programs.o")
    guard = f"{options.folder}/guard/guard.o"
    if options.define:
        guard = f"{scratch}/guard.o"
        source = f"{options.checkout}/{GUARD}"
        run(
            *compile_command(options, f"{options.folder}/generated", source, guard),
            *(f"-D{word}" for word in options.define),
        )
    # Functions are bound when they are called: where the guard refuses a program, none is.
    words = ["clang++", *SANITIZE, "-shared-libsan"] if options.sanitize else ["g++"]
    words += ["-shared", "-Wl,-z,lazy", f"-Wl,--version-script={scratch}/exports"]
    for part, more in (("mlx4", [options.archive]), ("qtest", [])):
        objects = sorted(glob.glob(f"{options.folder}/{part}/*.o"))
        objects += [guard, f"{scratch}/programs.o"]
        run(*words, "-o", f"{options.out}/freehca-{part}.so", *objects, *more, "-lglib-2.0")
    shutil.rmtree(scratch)


# ---- The list of symbols in the tree


def symbols(options):
    path = f"{options.checkout}/{SYMBOLS}"
    found = taken(options.folder)
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    head = [line for line in lines if line.startswith("#")]
    listed = {line for line in lines if line and not line.startswith("#")}
    if options.write:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in head + sorted(found))
        listed = found
    wrong = [f"{SYMBOLS} lacks {name}" for name in sorted(found - listed)]
    wrong += [f"{SYMBOLS} has {name}, which nothing takes" for name in sorted(listed - found)]
    wrong += complaints(found, options.programs)
    print("\n".join(wrong + [f"{len(found)} symbols, {len(options.programs)} programs"]))
    sys.exit(bool(wrong))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    made = {}
    for function in (compile_all, link, symbols):
        made[function] = command = commands.add_parser(function.__name__.replace("_all", ""))
        command.set_defaults(function=function)
        for argument in ("headers", "checkout", "folder"):
            command.add_argument(argument, type=os.path.abspath)
    for function in (compile_all, link):
        made[function].add_argument("--sanitize", action="store_true", help="for tests")
    made[link].add_argument("archive", type=os.path.abspath)
    made[link].add_argument("version")
    made[link].add_argument("out", type=os.path.abspath)
    made[link].add_argument("--build-id", help="for tests: an identifier that no program has")
    made[link].add_argument("--define", action="append", default=[], help="for tests: a macro")
    made[symbols].add_argument("--write", action="store_true", help="write the list anew")
    for function in (link, symbols):
        made[function].add_argument("programs", nargs="+")
    options = parser.parse_args()
    try:
        options.function(options)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)}: status {error.returncode}")


if __name__ == "__main__":
    main()
