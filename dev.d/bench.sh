#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# bench.sh [WHAT]: measurements. None exist yet; this says so instead of pretending.
set -euo pipefail
echo "bench: there are no measurements yet" >&2
exit 1
