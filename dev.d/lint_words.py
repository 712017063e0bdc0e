#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""lint_words.py [LIST]: refuses words that readers stumbled over.

LIST (default: dev.d/plain_english.txt) names the folders and files that hold the rules of
docs/glossary.md. In these, no identifier is a word of NAMES, and no comment and no line of prose
has a phrase of PHRASES. Examples in a page (fenced or indented) are not read. In C++, a word of
NAMES after `.`, `->` or `::` is not refused: it uses a member that is declared elsewhere, perhaps
in a folder that is not listed. The member's declaration is refused where it stands.
"""
import io
import os
import re
import subprocess
import sys
import tokenize

NAMES = frozenset(
    """told heed blame hears is_way together standing wanted lost stuck let_go owed ahead soon taker
    teller nothing_more""".split()
)
PHRASES = (
    "whoever",
    "whosoever",
    "what is there",
    "all the same",
    "that one",
    "anew",
    "be it",
    "by the word of",
)
PHRASE = re.compile(r"\b(" + "|".join(PHRASES).replace(" ", r"\s+") + r")\b", re.IGNORECASE)
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")
C = (".cpp", ".hpp", ".c", ".h")
SCRIPTS = (".sh", ".cmake", "CMakeLists.txt")
# A comment, a string or a character of C++; raw strings are not used in this tree's C++.
C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


def blank(text):
    """The text with every character but line ends replaced, so that offsets stay."""
    return re.sub(r"[^\n]", " ", text)


def split_c(text):
    """(code, comments) of C or C++, each as long as the text."""
    code, comments, end = [], [], 0
    for match in C_TOKEN.finditer(text):
        code.append(text[end : match.start()] + blank(match.group()))
        comments.append(blank(text[end : match.start()]))
        is_comment = match.group().startswith("/")
        comments.append(match.group() if is_comment else blank(match.group()))
        end = match.end()
    return "".join(code) + text[end:], "".join(comments) + blank(text[end:])


def split_python(text):
    """(code, comments) of Python: a text in triple quotes counts as a comment, others as neither."""
    code, comments = [list(blank(text)), list(blank(text))]
    begins = [0]
    for line in text.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        at = begins[token.start[0] - 1] + token.start[1]
        end = begins[token.end[0] - 1] + token.end[1]
        documents = token.type == tokenize.STRING and token.string.endswith('"""')
        if token.type == tokenize.NAME:
            code[at:end] = text[at:end]
        elif token.type == tokenize.COMMENT or documents:
            comments[at:end] = text[at:end]
    return "".join(code), "".join(comments)


def comments_of_script(text):
    """The comments of a script: whole lines, and those behind code."""
    lines = []
    for line in text.splitlines(keepends=True):
        match = re.search(r"(^|\s)#", line)
        at = match.start() if match else len(line)
        lines.append(blank(line[:at]) + line[at:])
    return "".join(lines)


def prose_of(text):
    """A page without its examples."""
    lines, example = [], False
    for line in text.splitlines(keepends=True):
        fence = line.lstrip().startswith("```")
        example = example != fence
        hidden = example or fence or (line.startswith("    ") and not line.lstrip().startswith("-"))
        lines.append(blank(line) if hidden else line)
    return "".join(lines)


def uses_member(code, at):
    """Whether the identifier at `at` names a member of an object, a class or a namespace."""
    before = code[max(0, at - 200) : at].rstrip()
    return before.endswith(("->", "::")) or (before.endswith(".") and not before.endswith(".."))


def complaints(path, text):
    """Yields (line, what is wrong) of one file; nothing of a file of another kind."""
    if path.endswith(".md"):
        code, prose = "", prose_of(text)
    elif path.endswith(C):
        code, prose = split_c(text)
    elif path.endswith(".py"):
        code, prose = split_python(text)
    elif path.endswith(SCRIPTS):
        # Shell and CMake have no declarations by which a name could be told from a word.
        code, prose = "", comments_of_script(text)
    else:
        return
    # A comment's next line begins with its marker, which is no part of a phrase.
    prose = re.sub(r"(?m)^(\s*)(//+|#|\*)", lambda m: m.group(1) + " " * len(m.group(2)), prose)
    for match in IDENTIFIER.finditer(code):
        if match.group() in NAMES and not uses_member(code, match.start()):
            yield text.count("\n", 0, match.start()) + 1, f"the name '{match.group()}'"
    for match in PHRASE.finditer(prose):
        words = " ".join(match.group().split())
        yield text.count("\n", 0, match.start()) + 1, f"the words '{words}'"


def listed(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.split("#")[0].strip() for line in file]
    return [line for line in lines if line]


def main():
    names = sys.argv[1] if len(sys.argv) > 1 else "dev.d/plain_english.txt"
    folders, wrong, count = listed(names), 0, 0
    for folder in folders:
        if not os.path.exists(folder):
            print(f"{names}: {folder} does not exist")
            wrong += 1
    files = subprocess.run(
        ["git", "ls-files", "-z", "-c", "-o", "--exclude-standard", "--", *folders],
        check=True,
        capture_output=True,
        text=True,
    )
    for path in filter(None, files.stdout.split("\0")):
        if not path.endswith((*C, *SCRIPTS, ".py", ".md")) or not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        count += 1
        for line, what in complaints(path, text):
            print(f"{path}:{line}: {what}; docs/glossary.md says what to write")
            wrong += 1
    print(f"{count} files looked at, {wrong} complaints")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
