#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Checks that no comment and no line of prose ends beyond column 100. Code is broken by its
formatter. A table of a page, an example in it and what is printed there keep their lines; so does
a comment that a tool reads (options of a guest case, directives), one behind a row of a table of
layouts, and a word that is longer than a line."""
import re
import subprocess
import sys

COLUMNS = 100
# Kinds of files, by the comments that they have.
SOURCES = (".py", ".sh", ".cmake", ".awk", "CMakeLists.txt")
C = (".cpp", ".hpp", ".c", ".h")
C_COMMENT, COMMENT = re.compile(r"^\s*(//|/?\*)"), re.compile(r"^\s*#")
READ_BY_TOOLS = re.compile(
    r"^\s*(//|#) *(options|program|then|again|needs|shellcheck|SPDX|NOLINT|clang-format)"
)
# The rows of a table in a comment: columns stand two spaces apart.
TABLE = re.compile(r"\S {2,}\S")


def long_comments(lines, comment):
    for number, line in enumerate(lines, 1):
        if len(line) <= COLUMNS or not comment.match(line) or READ_BY_TOOLS.match(line):
            continue
        if not TABLE.search(line):
            yield number


def long_prose(lines):
    example = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            example = not example
        elif len(line) > COLUMNS and not example and not line.startswith(("|", "    ", "#")):
            if " " in line.strip()[:COLUMNS]:
                yield number


def main():
    names = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True)
    count, wrong = 0, 0
    for path in filter(None, names.stdout.split("\0")):
        if not path.endswith((*C, *SOURCES, ".md")):
            continue
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            continue
        count += 1
        if path.endswith(".md"):
            found = long_prose(lines)
        else:
            found = long_comments(lines, C_COMMENT if path.endswith(C) else COMMENT)
        for number in found:
            print(f"{path}:{number}: {len(lines[number - 1])} columns; at most {COLUMNS}")
            wrong += 1
    print(f"{count} files looked at, {wrong} complaints")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
