# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The tests of pyverbs: how they are started, in the system or in the root of another release, and
what their output has to say.

The file of skips has a row for each reason: how many tests are skipped for it, and an extended
regular expression that the reason has. A range of numbers (`0-3`) is for what depends on the
machine. A test that is skipped for another reason fails the case, as does a number that is too
large. A number that is too small fails it as well, so that the rows shrink with what is missing.

The file of names has the tests that pass on Linux's mlx4_ib. Each of them has to pass, but for those
of pyverbs_behind.txt, which must not (pyverbs_names.py).
"""
import gzip
import pathlib
import re
import shutil

import pyverbs_names
import roots
from expectations import Failed, expect

HERE = pathlib.Path(__file__).resolve().parent
TESTS = "usr/share/doc/rdma-core/tests"  # of the package python3-pyverbs


def unpack(root, folder, without=()):
    source = root / TESTS
    expect(source.is_dir(), f"{source} is missing: the package python3-pyverbs has it")
    shutil.copytree(source, folder / "tests")
    for packed in (folder / "tests").glob("*.gz"):
        (folder / "tests" / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    for name in without:
        (folder / "tests" / name).unlink()


def words(root, folder, seen_as=None, without=()):
    """The command. `seen_as`: the folder's name for the program. `without`: files of tests that are
    left out."""
    unpack(root, folder, without)
    return ["/usr/bin/python3", "-B", f"{seen_as or folder}/tests/run_tests.py", "-v"]


def words_in_root(case, library, folder, fabric):
    """The command that becomes the tests in the case's root, with the library preloaded."""
    root = roots.root_by(case.root, f"python3-pyverbs_{case.version}")
    command = words(root, folder, seen_as="/mnt")
    return roots.words_on_driver(root, library, folder, fabric, command)


def known_skips(path):
    """Triples of least and most number of tests, and the pattern of the reason."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        number, pattern = line.split(maxsplit=1)
        least, _, most = number.partition("-")
        yield int(least), int(most or least), pattern


def check_skips(path, reasons):
    rows = list(known_skips(path))
    found = [0] * len(rows)
    for reason in reasons:
        place = next((i for i, row in enumerate(rows) if re.search(row[2], reason)), None)
        if place is None:
            raise Failed(f"a test is skipped for a reason that {path.name} does not have: {reason}")
        found[place] += 1
    for (least, most, pattern), number in zip(rows, found):
        expect(number <= most, f"{number} tests are skipped, not {most}: {pattern}")
        expect(number >= least, f"{path.name}: write {number}, not {least}, for: {pattern}")


def check_names(case, output):
    names = pyverbs_names.listed(HERE / case.names)
    behind = pyverbs_names.listed(HERE / "pyverbs_behind.txt")
    wrong = list(pyverbs_names.problems(names, behind, pyverbs_names.passed(output)))
    expect(not wrong, "; ".join(wrong))


def check(case, status, output):
    expect(status == 0, f"status {status}: {output[-300:]}")
    ran = re.search(r"^Ran (\d+) tests? in", output, re.MULTILINE)
    ended = re.search(r"^OK \(skipped=(\d+)\)$", output, re.MULTILINE)
    expect(ran and ended, f"the tests do not end as they should: {output[-300:]}")
    tests, skipped = int(ran[1]), int(ended[1])
    expect(tests == case.tests, f"{tests} tests ran, not {case.tests}")
    expect(tests - skipped >= case.least, f"{tests - skipped} tests passed, not {case.least}")
    # A message of the library may stand between a test's name and its result.
    reasons = re.findall(r"(?:^|\.\.\. )skipped (['\"])(.*)\1$", output, re.MULTILINE)
    expect(len(reasons) == skipped, f"{len(reasons)} reasons for {skipped} skips can be read")
    if case.names:
        check_names(case, output)
    check_skips(HERE / case.skips, [reason for _, reason in reasons])
