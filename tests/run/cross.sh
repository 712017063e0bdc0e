#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# cross.sh: the core builds, freestanding, for the other processors; one test each.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"
cd "$FREEHCA_ROOT"
for processor in aarch64 riscv64; do
  began=$(date +%s)
  preset=freestanding-$processor
  outcome=passed
  if ! step "$preset: configure" cmake --preset "$preset" ||
    ! step "$preset: build" nice cmake --build --preset "$preset"; then
    outcome=failed
  fi
  record "$outcome" "$(($(date +%s) - began))" "$preset: build"
done
