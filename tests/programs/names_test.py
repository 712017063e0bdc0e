#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""names_test.py LIBRARY LIBIBVERBS: compares the names that LIBRARY (the face) and LIBIBVERBS (of a
distribution) define with libibverbs_names.txt. A name of LIBIBVERBS that the table does not have is
a failure: somebody has to look whether the function takes one of our objects."""
import fnmatch
import pathlib
import subprocess
import sys
import unittest

TABLE = pathlib.Path(__file__).resolve().parent / "libibverbs_names.txt"
PREFIXES = ("ibv_", "_ibv_", "mbps_to_ibv", "mult_to_ibv", "verbs_", "_verbs_", "__verbs_")


def defined(library):
    """Pairs of name and version node, which is empty if the name has none."""
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, text=True, check=True
    )
    for line in listed.stdout.splitlines():
        *_, kind, symbol = line.split()
        name, _, node = symbol.partition("@")
        if kind != "A":  # version nodes are listed, too
            yield name, node.lstrip("@")


def rows():
    """Triples of name or pattern, release, and why the face need not define it."""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, release, *reason = line.split(maxsplit=2)
            yield name, release, "".join(reason)


def known(name):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern, _, _ in rows())


class Names(unittest.TestCase):
    face, libibverbs = "", ""

    def test_face_defines_each_function_that_takes_an_object(self):
        own = dict(defined(self.face))
        needed = [(name, release) for name, release, reason in rows() if not reason]
        missing = [f"{name} ({release})" for name, release in needed if name not in own]
        self.assertEqual(missing, [], "the face does not define these")

    def test_face_defines_no_other_names_of_libibverbs(self):
        own = [name for name, _ in defined(self.face) if name.startswith(PREFIXES)]
        self.assertGreater(len(own), 60)
        self.assertEqual([name for name in own if not known(name)], [], f"not in {TABLE.name}")

    def test_face_has_no_version_nodes(self):
        # A definition without a node wins over all versions of a name.
        versioned = [name for name, node in defined(self.face) if node]
        self.assertEqual(versioned, [])

    def test_libibverbs_has_no_name_that_the_table_lacks(self):
        theirs = {name for name, _ in defined(self.libibverbs)}
        self.assertIn("ibv_open_device", theirs)
        new = sorted(name for name in theirs if not known(name))
        self.assertEqual(new, [], f"{self.libibverbs} has names that {TABLE.name} lacks")

    def test_rows_are_unique_and_sorted_by_release(self):
        names = [name for name, _, _ in rows()]
        self.assertEqual(len(names), len(set(names)))
        releases = [release for _, release, _ in rows() if release != "private"]
        numbers = [[int(part) for part in release.split(".")] for release in releases]
        self.assertEqual(numbers, sorted(numbers))


if __name__ == "__main__":
    Names.face, Names.libibverbs = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
