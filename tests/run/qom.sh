#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# qom.sh: tests the device in QEMU as a PCI function, and with iPXE; the tests record themselves.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"
if [[ ! -e $FREEHCA_ROOT/qemu/qom/meson.build ]]; then
  record skipped 0 "qom" "there is no device in this checkout"
  exit 0
fi
qemu=$("$FREEHCA_ROOT/dev" qemu)
# Without an image its own tests fail, and say so.
FREEHCA_IPXE_BOOKWORM=$("$FREEHCA_ROOT/tests/qom/ipxe_image.sh" bookworm) || FREEHCA_IPXE_BOOKWORM=
FREEHCA_IPXE_TRIXIE=$("$FREEHCA_ROOT/tests/qom/ipxe_image.sh" trixie) || FREEHCA_IPXE_TRIXIE=
export FREEHCA_IPXE_BOOKWORM FREEHCA_IPXE_TRIXIE
step "qom" /usr/bin/python3 -B "$FREEHCA_ROOT/tests/qom/qom_test.py" "$qemu"
