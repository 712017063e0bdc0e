#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The check of the figures of ./dev bench frames finds a bound that is missed, and names it."""
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compare  # noqa: E402

FIRST = compare.ROWS[0]
TABLE = {row: (200.0, 180.0) for row in compare.ROWS}


def run(**first):
    """A run with the recorded figures, but those of the first row that are given."""
    figures = {}
    for row, (theirs, ours) in TABLE.items():
        figures["libdpdk", row], figures["freehca", row] = theirs, ours
    for driver, figure in first.items():
        figures[driver, FIRST] = figure
    return figures


class Bounds(unittest.TestCase):
    def test_what_is_recorded_holds(self):
        self.assertEqual(([], []), compare.judge([run(), run()], TABLE))

    def test_a_figure_of_any_run_that_left_its_margin(self):
        for driver, figure, record in (("freehca", 174.0, 180.0), ("libdpdk", 207.0, 200.0)):
            wrong, _ = compare.judge([run(), run(**{driver: figure})], TABLE)
            self.assertEqual([f"{FIRST}: {driver} {figure}, recorded {record}"], wrong)

    def test_a_frame_may_not_cost_more_than_libdpdks(self):
        table = {**TABLE, FIRST: (200.0, 203.0)}
        self.assertEqual(([], []), compare.judge([run(freehca=200.0)], table))
        missed = f"{FIRST}: 1.010 of libdpdk, bound 1.00"
        self.assertEqual(([missed], []), compare.judge([run(freehca=202.0)], table))
        with mock.patch.dict(compare.REACHED, {FIRST: 1.02}):
            allowed = f"{missed}; at most 1.02 is allowed"
            self.assertEqual(([], [allowed]), compare.judge([run(freehca=202.0)], table))
            wrong, _ = compare.judge([run(freehca=200.0)], table)
            self.assertIn("take the row out of REACHED", wrong[0])

    def test_the_page_has_each_row_with_a_ratio_that_is_kept(self):
        table = compare.recorded(compare.PAGE.read_text(encoding="utf-8"))
        self.assertEqual(compare.ROWS, list(table))
        for row, (theirs, ours) in table.items():
            self.assertLessEqual(ours / theirs, compare.REACHED.get(row, compare.RATIO), row)


if __name__ == "__main__":
    unittest.main()
