#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# lint.sh: the lint checks that take seconds, one test each.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"
for kind in licences lines pages pictures scripts words format symbols; do
  check "lint: $kind" "$FREEHCA_ROOT/dev" lint "$kind"
done
