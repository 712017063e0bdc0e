#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# check.sh NAME COMMAND...: one test that is a command (results.sh). Ends with status 3 if it has
# failed: the failure is recorded.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"
check "$@"
[[ $check_outcome != failed ]] || exit 3
