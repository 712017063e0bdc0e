#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# preset.sh PRESET [LABEL [TARGET...]]: configures, builds and tests one CMake preset: what has the
# label, and these targets in place of the preset's. A build that fails is one failed test.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"
preset=$1 label=${2:-}
targets=("${@:3}")
[[ ${#targets[@]} -eq 0 ]] || targets=(--target "${targets[@]}")
# Two labels of one preset are two runs of ctest.
run=$preset${label:+-$label}
cd "$FREEHCA_ROOT"

began=$(date +%s)
if ! step "$preset: configure" cmake --preset "$preset" ||
  ! step "$preset: build" nice cmake --build --preset "$preset" "${targets[@]}"; then
  record failed "$(($(date +%s) - began))" "$preset: build"
  exit 0
fi
record passed "$(($(date +%s) - began))" "$preset: build"

# All of what passes is kept, since the summary reads in it how many tests a program had.
arguments=(--preset "$preset" --no-tests=error -j "$(nproc)" --output-junit "$FREEHCA_RESULTS/$run.xml"
  --test-output-size-passed 1000000)
[[ -z $label ]] || arguments+=(-L "^$label\$")
# Failed tests are counted from ctest's own report. Its status is kept beside it, since a ctest that
# fails without a failed test in its report (it crashed, or was ended) must fail the run too.
status=0
step "$preset: ctest ${label:-(all)}" ctest "${arguments[@]}" || status=$?
printf '%s\n' "$status" >"$FREEHCA_RESULTS/$run.status"
