#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# bare.sh [TARGET...]: builds the images of each architecture that has a bare-metal target, and of
# each board that is known by constants, and boots them; the tests record themselves.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"

# shellcheck source=tests/run/side_by_side.sh
. "$FREEHCA_ROOT/tests/run/side_by_side.sh"

targets=("$@") built=() pairs=()
[[ ${#targets[@]} -gt 0 ]] ||
  mapfile -t targets < <(basename -s -bare -a "$FREEHCA_ROOT"/hal/targets/{*-bare,boards/*})
for target in "${targets[@]}"; do
  began=$(date +%s) outcome=passed
  "$FREEHCA_ROOT/dev" bare "$target" --build-only || outcome=failed
  record "$outcome" "$(($(date +%s) - began))" "bare: build of $target"
  [[ $outcome == passed ]] || continue
  qemu=$("$FREEHCA_ROOT/dev" qemu "${target%%-*}")
  built+=("$target $qemu")
  [[ $target == *-* ]] || pairs+=("$target=$qemu")
  [[ $target == *-* ]] || check "bare: the core of $target is that of other programs" \
    "$FREEHCA_ROOT/tests/bare/same_objects.py" "$target"
done
# Of some tests most is the wait for an adapter that does not answer.
SIDE_BY_SIDE=$(($(nproc) * 2))
for words in "${built[@]}"; do
  read -r target qemu <<<"$words"
  side_by_side step "bare $target" \
    /usr/bin/python3 -B "$FREEHCA_ROOT/tests/bare/bare_test.py" "$target" "$qemu"
done
all_done
[[ ${#pairs[@]} -lt 2 ]] ||
  step "bare pairs" /usr/bin/python3 -B "$FREEHCA_ROOT/tests/bare/pair_test.py" "${pairs[@]}"
