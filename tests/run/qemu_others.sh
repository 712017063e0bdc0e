#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# qemu_others.sh: the QEMUs with our device that images for other architectures boot in, one test
# each.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"
status=0
for architecture in aarch64 riscv64; do
  check "qemu: the device for $architecture" "$FREEHCA_ROOT/dev" qemu "$architecture"
  [[ $check_outcome != failed ]] || status=3
done
exit "$status"
