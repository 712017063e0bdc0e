# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What a case of run_programs.py expects."""


class Failed(Exception):
    """The case failed; the text says why."""


def expect(condition, text):
    if not condition:
        raise Failed(text)
