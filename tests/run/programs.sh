#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# programs.sh [programs|long]: runs the programs of others on the driver, between plain processes;
# they record themselves.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
tier=${1:-programs}
step "programs: $tier" /usr/bin/python3 -B "$FREEHCA_ROOT/tests/programs/run_programs.py" \
  "$FREEHCA_ROOT/build/host/ibverbs/run/freehca-run" --tier "$tier"
