#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# fuzz.sh SECONDS: so long of each fuzzer, one test each, on a seed that was not used before. Each
# begins with the inputs that stand in the tree, and keeps one processor busy.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"
# shellcheck source=tests/run/side_by_side.sh
. "$FREEHCA_ROOT/tests/run/side_by_side.sh"
for target in driver model server client fabric face; do
  side_by_side check "fuzz: $target" "$FREEHCA_ROOT/dev" fuzz $target "$1"
done
all_done
