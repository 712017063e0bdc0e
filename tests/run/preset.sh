#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# preset.sh build PRESET [TARGET...]: configures and builds one CMake preset: these targets, or the
# preset's own. One test; ends with status 3 if it has failed.
# preset.sh test PRESET [LABEL]: runs its tests, or those with the label.
#
# FREEHCA_FEW_FILES=yes: a folder that is not there yet is configured so that a build from nothing
# is quick (dev.d/few_files.sh, cmake/few_files.cmake).
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"
# shellcheck source=dev.d/few_files.sh
. "$FREEHCA_ROOT/dev.d/few_files.sh"
what=$1 preset=$2
shift 2
cd "$FREEHCA_ROOT"

if [[ $what == build ]]; then
  name="$preset: build${*:+ of $*}" targets=() few=ON
  [[ $# -eq 0 ]] || targets=(--target "$@")
  case $preset in
    host-asan | host-tsan) folder=build/host-clang-${preset#host-} ;;
    *) folder=build/$preset ;;
  esac
  # The figures of the core are recorded of objects that are compiled source by source.
  [[ $preset != host ]] || few=HOSTED
  mapfile -t options < <(few_files_option "$folder" "$few")
  began=$(date +%s) outcome=passed
  if ! step "$preset: configure" cmake --preset "$preset" "${options[@]}" ||
    ! step "$name" nice cmake --build --preset "$preset" "${targets[@]}"; then
    outcome=failed
  fi
  record "$outcome" "$(($(date +%s) - began))" "$name"
  [[ $outcome == passed ]] || exit 3
  exit 0
fi

label=${1:-}
# Two labels of one preset are two runs of ctest.
run=$preset${label:+-$label}
# All of what passes is kept, since the summary reads in it how many tests a program had.
arguments=(--preset "$preset" --no-tests=error -j "$(nproc)" --output-junit "$FREEHCA_RESULTS/$run.xml"
  --test-output-size-passed 1000000)
[[ -z $label ]] || arguments+=(-L "^$label\$")
# Failed tests are counted from ctest's own report. Its status is kept beside it, since a ctest that
# fails without a failed test in its report (it crashed, or was ended) must fail the run too.
status=0
step "$preset: ctest ${label:-(all)}" ctest "${arguments[@]}" || status=$?
printf '%s\n' "$status" >"$FREEHCA_RESULTS/$run.status"
