#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""same_names.py ROOT PROGRAM: the settings of freehca-device are the properties of QEMU's device,
by the same names, and what can be changed while it runs is what QMP can change."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Of QEMU's device alone.
PROPERTIES_ALONE = {
    "netdev1": "port1",
    "netdev2": "port2",
    "name1": "port1",
    "name2": "port2",
    "x-fault-held-commands": "only while it runs",
    "x-fault-removed": "only while it runs",
    "x-fault-catastrophic": "only while it runs",
    "x-fault-raise": "only while it runs",
    "counters": "to be read",
    "capture-errors": "to be read",
    "explanations": "to be read",
    "dump": "to be read",
    "state-digest": "to be read",
}
# Of the program alone.
SETTINGS_ALONE = {
    "help",
    "version",
    "socket",
    "control",
    "ask",
    "trace",
    "port1",
    "port2",
    "doorbells",  # in QEMU's own process each store is a call
    "poll-us",
    "restarts",
    "save-on",
    "load",
    "upgrade",
    "closed",  # a QEMU's rights are its own matter (-sandbox)
}


def properties(text):
    """Names in the glue's sources: DEFINE_PROP_X("name", and object_class_property_add_x(klass,
    "name"; x-fault-link1 and -link2 are made by a loop."""
    found = set(re.findall(r'DEFINE_PROP_\w+\(\s*"([^"]+)"', text))
    found |= set(re.findall(r'object_class_property_add\w*\(\s*klass,\s*"([^"]+)"', text))
    for pattern in re.findall(r'g_strdup_printf\("(x-fault-\w+%u)"', text):
        found |= {pattern.replace("%u", str(port)) for port in (1, 2)}
    return found


def settings(text):
    return set(re.findall(r"--([a-z0-9-]+)", "\n".join(re.findall(r"^ +(-\S+)", text, re.M))))


def run_time_properties(text):
    """Those with functions of their own, but for what is only read, and what is a request of its
    own on the control socket."""
    found = set(re.findall(r'object_class_property_add\w*\(\s*klass,\s*"([^"]+)"', text))
    for pattern in re.findall(r'g_strdup_printf\("(x-fault-\w+%u)"', text):
        found |= {pattern.replace("%u", str(port)) for port in (1, 2)}
    return found - {"counters", "capture-errors", "explanations", "dump", "state-digest"}


def run_time_settings(program):
    with tempfile.TemporaryDirectory() as folder:
        control = f"{folder}/control"
        with subprocess.Popen(
            [program, "--socket", f"{folder}/device", "--control", control],
            stderr=subprocess.PIPE,
            text=True,
        ) as server:
            while "ready" not in (line := server.stderr.readline()):
                if not line:
                    sys.exit(f"{program} ended")
            asked = subprocess.run(
                [program, "--control", control, "--ask", '{"request":"settings"}'],
                check=True,
                capture_output=True,
                text=True,
            )
            server.terminate()
    return set(json.loads(asked.stdout)["settings"])


def complaints(device, program):
    yield from (f"--{n} is no property" for n in sorted(program - device - SETTINGS_ALONE))
    yield from (f"there is no --{n}" for n in sorted(device - program - set(PROPERTIES_ALONE)))
    yield from (f"{n}: no property any more" for n in sorted(set(PROPERTIES_ALONE) - device))
    yield from (f"{n}: no setting any more" for n in sorted(SETTINGS_ALONE - program))


def main():
    root, program = sys.argv[1:]
    sources = sorted(pathlib.Path(root, "qemu/qom").glob("*.c"))
    device = properties("\n".join(path.read_text(encoding="utf-8") for path in sources))
    words = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    found = settings(words)
    both = device & found
    if len(list(complaints(device - {"variant"}, found))) != 1 or len(both) < 30:
        sys.exit(f"the checker itself is wrong: {sorted(device)} and {sorted(found)}")
    wrong = list(complaints(device, found))
    changed = run_time_properties("\n".join(path.read_text(encoding="utf-8") for path in sources))
    changeable = run_time_settings(program)
    if len(changed) < 15:
        sys.exit(f"the checker itself is wrong: {sorted(changed)}")
    wrong += [f"{n} cannot be changed on the control socket" for n in sorted(changed - changeable)]
    # QEMU has trace events of its own.
    wrong += [f"{n} cannot be changed by QMP" for n in sorted(changeable - changed - {"trace"})]
    print(*wrong, sep="\n")
    print(f"{len(both)} names in both, {len(wrong)} in one alone")
    sys.exit(1 if wrong else 0)


main()
