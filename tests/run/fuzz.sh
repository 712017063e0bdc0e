#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# fuzz.sh: one minute of each fuzzer, one test each, which begins with the inputs that stand in the
# tree; each keeps one processor busy.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"
# Process groups of their own, which end when this does.
set -m
end_jobs() {
  local job
  for job in $(jobs -p); do kill -TERM -- "-$job"; done
  exit 130
}
trap end_jobs INT TERM HUP
for target in driver model; do check "fuzz: $target" "$FREEHCA_ROOT/dev" fuzz $target 60 & done
wait
