#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# bare.sh: builds the images of each architecture that has a bare-metal target, and of each board
# that is known by constants, and boots them; the tests record themselves.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"

pairs=()
for target in "$FREEHCA_ROOT"/hal/targets/{*-bare,boards/*} aarch64-incoherent; do
  architecture=$(basename "$target" -bare)
  began=$(date +%s)
  if ! "$FREEHCA_ROOT/dev" bare "$architecture" --build-only; then
    record failed "$(($(date +%s) - began))" "bare: build of $architecture"
    continue
  fi
  record passed "$(($(date +%s) - began))" "bare: build of $architecture"
  qemu=$("$FREEHCA_ROOT/dev" qemu "${architecture%%-*}")
  [[ $architecture == *-* ]] || pairs+=("$architecture=$qemu")
  [[ $architecture == *-* ]] || check "bare: the core of $architecture is that of other programs" \
    "$FREEHCA_ROOT/tests/bare/same_objects.py" "$architecture"
  step "bare $architecture" \
    /usr/bin/python3 -B "$FREEHCA_ROOT/tests/bare/bare_test.py" "$architecture" "$qemu"
done
step "bare pairs" /usr/bin/python3 -B "$FREEHCA_ROOT/tests/bare/pair_test.py" "${pairs[@]}"
