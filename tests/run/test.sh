#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# test.sh [TIER... | --feature NAME]: runs the tiers (plan.py says what they are made of), and sums
# everything up in one last line, "N passed, N failed, N skipped". Exit status: 0 when nothing
# failed, 1 when something did, 2 for a tier or a feature that does not exist. Tiers: unit model
# layering lint host cross fuzz trixie qom bare guest long; without one: lint host qom bare guest.
# --feature: runs the tests of one row of docs/features.md, after building what they need.
set -euo pipefail
here=$FREEHCA_ROOT/tests/run
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
# shellcheck source=tests/run/results.sh
. "$here/results.sh"

runner=$here/plan.py
if [[ ${1:-} == --feature ]]; then
  shift
  runner=$FREEHCA_ROOT/tests/features/run_feature.py
  /usr/bin/python3 -B "$runner" --check "$@" || exit
fi
need script
rm -rf "$FREEHCA_RESULTS"
find "$FREEHCA_ROOT/build/results" -maxdepth 1 -mtime +1 -name 'run-*' -exec rm -rf {} + 2>/dev/null || true
mkdir -p "$FREEHCA_RESULTS"
: >"$FREEHCA_RESULTS/own.tsv"
: >"$FREEHCA_RESULTS/stages.tsv"
/usr/bin/python3 -B "$runner" "$FREEHCA_RESULTS" "$@"
exec "$here/summary.py" "$FREEHCA_RESULTS"
