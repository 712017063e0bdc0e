#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# bare_images.sh [TARGET...]: builds the images of each architecture that has a bare-metal target,
# and of each board that is known by constants, one test each; and compares the core in them with
# that of other programs.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"

targets=("$@") status=0
[[ ${#targets[@]} -gt 0 ]] ||
  mapfile -t targets < <(basename -s -bare -a "$FREEHCA_ROOT"/hal/targets/{*-bare,boards/*})
for target in "${targets[@]}"; do
  began=$(date +%s) outcome=passed
  "$FREEHCA_ROOT/dev" bare "$target" --build-only || outcome=failed
  record "$outcome" "$(($(date +%s) - began))" "bare: build of $target"
  [[ $outcome == passed ]] || { status=3; continue; }
  # The guest's other end alone needs no comparison.
  [[ $target == *-* || $# -gt 0 ]] || check "bare: the core of $target is that of other programs" \
    "$FREEHCA_ROOT/tests/bare/same_objects.py" "$target"
done
exit "$status"
