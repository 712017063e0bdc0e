#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# trixie.sh: one test: the device's glue also compiles against the next release's QEMU.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"
check "trixie: the glue compiles" "$FREEHCA_ROOT/qemu/build/check_trixie.sh" "$@"
