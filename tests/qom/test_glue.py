# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""A few episodes of fuzz_glue.py, the same each time; ./dev fuzz qemu goes on from there."""
import unittest

import fuzz_glue

SEED, EPISODES = 1, 6


class Glue(unittest.TestCase):
    def test_random_actions_of_guest_administrator_and_far_end(self):
        for number in range(EPISODES):
            with self.subTest(seed=SEED, episode=number):
                self.assertIsNone(fuzz_glue.episode(SEED, number))


if __name__ == "__main__":
    unittest.main()
