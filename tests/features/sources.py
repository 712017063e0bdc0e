# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What the driver's sources name, and which tests the tree has.

The driver's sources are read with regular expressions. A reader that finds fewer names than there
were when it was written raises Unreadable: the sources have a new form, and the reader must follow.
"""
import ast
import gzip
import pathlib
import re
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "tests" / folder) for folder in ("guest", "programs", "run")]
import programs  # noqa: E402
import run_cases  # noqa: E402

KINDS = ("command", "transition", "request", "completion", "event")
# The folders of the core.
CORE = ("hal/include", "hal/src", "firmware_cmds", "queues", "hca")
# A transition has the name of a command: RST2INIT_QP, 2ERR_QP (to_err_qp).
TRANSITION = re.compile(r"(\w+2\w+|to_\w+)_qp")
# The folders of tests that have the driver in the test's own process, each with its program.
PROGRAMS = {"tests/model/driver": "freehca_driver_tests", "tests/unit/queues": "queues_test"}
PYVERBS = pathlib.Path("/usr/share/doc/rdma-core/tests")  # of the package python3-pyverbs


class Unreadable(Exception):
    """A reader does not find what it has to find."""


def text_of(path):
    """The file without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def files_of(tree, *folders):
    return sorted(path for folder in folders for path in (tree / folder).rglob("*.[ch]pp"))


def found(tree, pattern, *folders):
    """What the pattern finds in the sources of the folders."""
    return {
        name for path in files_of(tree, *folders) for name in re.findall(pattern, text_of(path))
    }


def at_least(number, names, what):
    if len(names) < number:
        raise Unreadable(f"{what}: {len(names)} are found, not {number}: {' '.join(sorted(names))}")
    return names


def commands_sent(tree):
    """The opcodes of the commands that the core sends. A command has a type in firmware_cmds, which
    the core names (commands::NAME), or the core names its opcode (opcode::NAME)."""
    family = r"\b(?:using|struct)\s+(\w+)\s*[=:]\s*(?:family|modify_qp)<\s*opcode::(\w+)"
    opcode_of = dict(found(tree, family, "firmware_cmds/include"))
    at_least(40, opcode_of, "types of firmware_cmds")
    named = found(tree, r"\bcommands::(\w+)", *CORE)
    unknown = named - set(opcode_of)
    if unknown:
        raise Unreadable(
            f"firmware_cmds has no type of a command named {' '.join(sorted(unknown))}"
        )
    by_opcode = found(tree, r"(?<!\w)opcode::(\w+)", "hca")
    return at_least(35, {opcode_of[name] for name in named} | by_opcode, "commands of the core")


def enumerators(tree):
    """Kind to the names that the driver's sources have of it."""
    sent = commands_sent(tree)
    transitions = {name for name in sent if TRANSITION.fullmatch(name)}
    request = r"static constexpr auto opcode = (?:layouts::)?wqe_opcode::(\w+)"
    return {
        "command": sent - transitions,
        "transition": at_least(5, transitions, "transitions"),
        "request": at_least(13, found(tree, request, "queues"), "work requests"),
        "completion": at_least(
            6, found(tree, r"\bcqe_opcode::(\w+)", "queues"), "completions of receives"
        ),
        "event": at_least(19, found(tree, r"\bevent_type::(\w+)", "hca/src"), "events"),
    }


def tests_in_process(tree):
    """Each test of GoogleTest, as SUITE.NAME, to its folders."""
    pattern = r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)"
    folders = {}
    for folder in PROGRAMS:
        for path in (tree / folder).glob("*_test.cpp"):
            for suite, name in re.findall(pattern, text_of(path), re.MULTILINE):
                folders.setdefault(f"{suite}.{name}", set()).add(folder)
    at_least(400, folders, "tests in process")
    return folders


def guest_cases(tree):
    """Name to the case, with those that a case is run as again."""
    paths = sorted((tree / "tests" / "guest" / "cases").glob("*.sh"))
    cases = {case.name: case for path in paths for case in run_cases.Case(path).variants()}
    at_least(40, cases, "guest cases")
    return cases


def program_cases():
    """Name to the row of tests/programs/programs.py."""
    return {case.name: case for case in programs.CASES}


def has_pyverbs_test(name, folder=PYVERBS):
    """Whether pyverbs has a test of this name, tests.MODULE.CLASS.TEST. None: its tests are not
    installed."""
    if not folder.is_dir():
        return None
    _, module, suite, test = name.split(".")
    plain, packed = folder / f"{module}.py", folder / f"{module}.py.gz"
    if plain.exists():
        text = plain.read_bytes()
    elif packed.exists():
        text = gzip.decompress(packed.read_bytes())
    else:
        return False
    return any(
        isinstance(node, ast.ClassDef)
        and node.name == suite
        and any(isinstance(part, ast.FunctionDef) and part.name == test for part in node.body)
        for node in ast.parse(text).body
    )
