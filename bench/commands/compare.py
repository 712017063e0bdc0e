#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""compare.py LOG [JSON]: prints what the guest measured, a line of JSON in LOG for each driver, as
a ratio of our driver to Linux's; puts it as "guest" into the document in the file JSON, which the
measurement in process made."""
import json
import sys


def results(log):
    found = {}
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("{"):
                result = json.loads(line)
                found[result["driver"]] = result
    return found


def main():
    found = results(sys.argv[1])
    linux, ours = (found.get(name) for name in ("mlx4_ib", "freehca"))
    if not linux or not ours:
        sys.exit(f"bench: {sys.argv[1]} has no result of both drivers")
    print(
        f"{ours['queue_pairs']} RC queue pairs from nothing to RTS in the guest, one thread, one adapter"
    )
    print(f"{'driver':<12} {'milliseconds':>12} {'QPs per second':>14} {'ratio':>8}")
    for result in (linux, ours):
        result["ratio"] = result["queue_pairs_per_second"] / linux["queue_pairs_per_second"]
        print(
            f"{result['driver']:<12} {result['seconds'] * 1e3:>12.3f} {result['queue_pairs_per_second']:>14.0f} "
            f"{result['ratio']:>8.2f}"
        )
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as file:
            document = json.load(file)
        document["guest"] = [linux, ours]
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            json.dump(document, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()
