#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# bare.sh [TARGET...]: boots the images that bare_images.sh has built; the tests record themselves.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/side_by_side.sh
. "$FREEHCA_ROOT/tests/run/side_by_side.sh"

targets=("$@") pairs=()
[[ ${#targets[@]} -gt 0 ]] ||
  mapfile -t targets < <(basename -s -bare -a "$FREEHCA_ROOT"/hal/targets/{*-bare,boards/*})
# Of some tests most is the wait for an adapter that does not answer.
SIDE_BY_SIDE=$(($(nproc) * 2))
for target in "${targets[@]}"; do
  qemu=$("$FREEHCA_ROOT/dev" qemu "${target%%-*}")
  [[ $target == *-* ]] || pairs+=("$target=$qemu")
  side_by_side step "bare $target" \
    /usr/bin/python3 -B "$FREEHCA_ROOT/tests/bare/bare_test.py" "$target" "$qemu"
done
all_done
[[ ${#pairs[@]} -lt 2 ]] ||
  step "bare pairs" /usr/bin/python3 -B "$FREEHCA_ROOT/tests/bare/pair_test.py" "${pairs[@]}"
