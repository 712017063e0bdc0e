#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Prints apt sources (deb822) derived from the system's own, with deb-src added.

The system's lists may name only binary packages and only the system's release. This prints the same
archives with source packages, for the same release or for another (--release trixie, --backports),
or for one suite alone (--suite bookworm-backports), and leaves out archives that are not Debian's
own.
"""
import argparse
import glob
import os
import re
import sys


def system_codename(etc):
    with open(os.path.join(etc, "os-release"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("VERSION_CODENAME="):
                return line.split("=", 1)[1].strip().strip('"')
    sys.exit("apt_sources: /etc/os-release names no VERSION_CODENAME")


def read_one_line_style(path):
    """Yields (uris, suites, components, options) of the entries in a sources.list."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = re.match(r"\s*deb(?:-src)?\s+(?:\[([^\]]*)\]\s*)?(\S+)\s+(\S+)\s*([^#]*)", line)
            if not match:
                continue
            options = {}
            for word in (match.group(1) or "").split():
                name, _, value = word.partition("=")
                if name.lower() in ("signed-by", "trusted", "check-valid-until"):
                    options[name.title()] = value
            yield [match.group(2)], [match.group(3)], match.group(4).split(), options


def read_deb822_style(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = "\n".join(line for line in file.read().split("\n") if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", text):
        fields = {}
        name = None
        for line in stanza.split("\n"):
            if line[:1].isspace() and name:
                fields[name] += "\n" + line
            elif ":" in line:
                name, _, value = line.partition(":")
                name = name.strip().title()
                fields[name] = value.strip()
        if "Uris" not in fields or fields.get("Enabled", "yes").lower() in ("no", "false"):
            continue
        options = {
            key: fields[key]
            for key in ("Signed-By", "Trusted", "Check-Valid-Until")
            if key in fields
        }
        yield (
            fields["Uris"].split(),
            fields.get("Suites", "").split(),
            fields.get("Components", "").split(),
            options,
        )


def entries(etc):
    apt = os.path.join(etc, "apt")
    lists = [os.path.join(apt, "sources.list")] + sorted(
        glob.glob(os.path.join(apt, "sources.list.d", "*.list"))
    )
    for path in lists:
        if os.path.exists(path):
            yield from read_one_line_style(path)
    for path in sorted(glob.glob(os.path.join(apt, "sources.list.d", "*.sources"))):
        yield from read_deb822_style(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--etc", default="/etc", help="read the lists below this folder")
    parser.add_argument("--release", help="the release to ask for; default: the system's")
    parser.add_argument("--backports", action="store_true", help="add the release's backports")
    parser.add_argument(
        "--suite", help="this suite alone, of the archive that has the system's release"
    )
    options = parser.parse_args()

    own = system_codename(options.etc)
    wanted = options.release or own
    # Debian's own archives, told by the suite; what stands behind the codename is kept for the
    # wanted release.
    known = {"": "", "-updates": "-updates", "-security": "-security", "/updates": "-security"}
    seen = set()
    for uris, suites, components, settings in entries(options.etc):
        for suite in suites:
            if (
                not suite.startswith(own)
                or suite[len(own) :] not in known
                or "main" not in components
            ):
                continue
            tail = known[suite[len(own) :]]
            # Archives for security may stand elsewhere; all other suites stand beside the release.
            targets = [wanted + tail]
            if options.suite:
                elsewhere = known[suite[len(own) :]] == "-security"
                targets = (
                    [options.suite] if options.suite.endswith("-security") == elsewhere else []
                )
            elif tail == "" and options.backports:
                targets.append(wanted + "-backports")
            for uri in uris:
                for target in targets:
                    if (uri, target) in seen:
                        continue
                    seen.add((uri, target))
                    print(f"Types: deb deb-src\nURIs: {uri}\nSuites: {target}\nComponents: main")
                    for name, value in settings.items():
                        print(f"{name}: {value}")
                    print()
    if not seen:
        sys.exit(
            f"apt_sources: the system's apt lists name no archive for '{own}' with the component main"
        )


if __name__ == "__main__":
    main()
