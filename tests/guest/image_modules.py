#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""image_modules.py MODULES MODULES_TXT STAGE: lays out the kernel modules that the guest gets.

MODULES is the lib/modules/VERSION of an unpacked kernel package. The wanted ones and all they
depend on are copied, and indexed by depmod (kmod reads only the binary index, which Debian's
package does not contain). A name that this kernel does not have is left out with a message: kernels
differ.
"""
import os
import re
import shutil
import subprocess
import sys


def depmod(base, version):
    subprocess.run(["depmod", "-b", base, version], check=True)


def module_name(path):
    return re.sub(r"\.ko(\.\w+)?$", "", os.path.basename(path)).replace("-", "_")


def main():
    modules, modules_txt, stage = sys.argv[1:4]
    modules = modules.rstrip("/")
    version = os.path.basename(modules)
    # depmod wants BASE/lib/modules/VERSION, whichever way the package spells it.
    base = stage + ".all"
    shutil.rmtree(base, ignore_errors=True)
    os.makedirs(os.path.join(base, "lib", "modules"))
    os.symlink(os.path.abspath(modules), os.path.join(base, "lib", "modules", version))
    depmod(base, version)

    depends, paths = {}, {}
    with open(os.path.join(modules, "modules.dep"), encoding="utf-8") as file:
        for line in file:
            path, _, rest = line.partition(":")
            paths[module_name(path)] = path
            depends[path] = rest.split()
    with open(os.path.join(modules, "modules.builtin"), encoding="utf-8") as file:
        builtin = {module_name(line.strip()) for line in file}
    with open(modules_txt, encoding="utf-8") as file:
        wanted = [
            line.strip().replace("-", "_")
            for line in file
            if line.strip() and not line.startswith("#")
        ]

    chosen = set()
    for name in wanted:
        if name in paths:
            chosen |= {paths[name], *depends[paths[name]]}
        elif name not in builtin:
            print(f"image_modules: kernel {version} has no module {name}")
    target = os.path.join(stage, "usr", "lib", "modules", version)
    for path in sorted(chosen) + ["modules.builtin", "modules.order", "modules.builtin.modinfo"]:
        if os.path.exists(os.path.join(modules, path)):
            os.makedirs(os.path.dirname(os.path.join(target, path)), exist_ok=True)
            shutil.copy2(os.path.join(modules, path), os.path.join(target, path))
    # Not a link in the stage: the archive is unpacked over the one that holds the link lib ->
    # usr/lib.
    os.symlink("usr/lib", os.path.join(stage, "lib"))
    depmod(stage, version)
    os.remove(os.path.join(stage, "lib"))
    shutil.rmtree(base)


if __name__ == "__main__":
    main()
