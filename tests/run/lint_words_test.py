#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""dev.d/lint_words.py: the words that it refuses, where it looks for them, and its exit status."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "dev.d", "lint_words.py")
sys.path.insert(0, os.path.join(ROOT, "dev.d"))
import lint_words  # noqa: E402 (the folder is known from here on)


def found(path, text):
    return [(line, what.split("'")[1]) for line, what in lint_words.complaints(path, text)]


class Complaints(unittest.TestCase):
    def test_every_name_is_refused_in_code(self):
        for name in lint_words.NAMES:
            self.assertEqual(found("a.cpp", f"\nint {name} = 1;\n"), [(2, name)])
            self.assertEqual(found("a.hpp", f"void {name}();\n"), [(1, name)])
            self.assertEqual(found("a.py", f"def {name}():\n"), [(1, name)])

    def test_a_name_is_a_whole_identifier(self):
        self.assertEqual(found("a.cpp", "int told_ = untold + told2; // told\n"), [])
        self.assertEqual(found("a.cpp", 'const char* text = "told"; char c = \'"\';\n'), [])

    def test_a_member_is_refused_where_it_is_declared_alone(self):
        self.assertEqual(found("a.cpp", "a.lost(); a->lost(); b::lost(); a\n    .lost();\n"), [])
        self.assertEqual(found("a.cpp", "struct s {\n  bool lost() const;\n};\n"), [(2, "lost")])
        self.assertEqual(
            found("a.cpp", "template <class... lost> int f(int a, int\nlost);\n"),
            [(1, "lost"), (2, "lost")],
        )
        self.assertEqual(found("a.py", "self.lost = 1\n"), [(1, "lost")])

    def test_every_phrase_is_refused_in_comments_and_pages(self):
        for phrase in lint_words.PHRASES:
            self.assertEqual(found("a.cpp", f"int a;\nint b; // {phrase} waits\n"), [(2, phrase)])
            self.assertEqual(found("a.h", f"/* Then\n * {phrase} waits. */\n"), [(2, phrase)])
            self.assertEqual(found("a.sh", f"run\n# {phrase} waits\n"), [(2, phrase)])
            self.assertEqual(found("a.md", f"Here {phrase} waits.\n"), [(1, phrase)])

    def test_of_python_names_comments_and_docstrings_count(self):
        self.assertEqual(found("a.py", 'TEXT = "told anew"\n'), [])
        self.assertEqual(found("a.py", 'def f():\n    """Anew."""\n'), [(2, "Anew")])
        self.assertEqual(found("a.py", "x = 1  # anew\n"), [(1, "anew")])

    def test_a_phrase_may_span_two_lines(self):
        self.assertEqual(found("a.cpp", "// takes what\n// is there\n"), [(1, "what is there")])
        self.assertEqual(found("a.md", "all the\nsame\n"), [(1, "all the same")])

    def test_code_and_examples_have_no_phrases(self):
        self.assertEqual(found("a.cpp", "auto anew = 1;\n"), [])
        self.assertEqual(found("a.md", "```\nanew\n```\n\n    anew\n"), [])
        self.assertEqual(found("a.md", "```\nb\n```\nanew\n"), [(4, "anew")])
        self.assertEqual(found("a.txt", "anew\n"), [])


class Program(unittest.TestCase):
    def run_in(self, files, listed):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "-q", folder], check=True)
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(folder, path)) or folder, exist_ok=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write(text)
            with open(os.path.join(folder, "list"), "w", encoding="utf-8") as file:
                file.write(listed)
            run = subprocess.run(
                [sys.executable, "-B", PROGRAM, "list"],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            return run.returncode, run.stdout

    def test_only_listed_folders_are_read(self):
        files = {"a/x.cpp": "int told;\n", "b/y.cpp": "int good;\n"}
        status, text = self.run_in(files, "# a comment\nb\n")
        self.assertEqual((status, text), (0, "1 files looked at, 0 complaints\n"))
        status, text = self.run_in(files, "a\nb # both\n")
        self.assertEqual(status, 1)
        self.assertIn("a/x.cpp:1: the name 'told'", text)

    def test_a_folder_that_is_gone_is_an_error(self):
        status, text = self.run_in({"b/y.cpp": "int good;\n"}, "b\na\n")
        self.assertEqual(status, 1)
        self.assertIn("a does not exist", text)

    def test_a_list_without_files_is_an_error(self):
        self.assertEqual(self.run_in({"b/y.txt": "told\n"}, "b\n")[0], 1)


if __name__ == "__main__":
    unittest.main()
