#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# prepare_guest.sh: what the guest cases need: QEMU with the device (one test), the image, the host
# build's programs.
set -euo pipefail
here=$FREEHCA_ROOT/tests/run
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$here/results.sh"
cd "$FREEHCA_ROOT"
"$here/install.sh" script build preload qemu_x86_64 guest capture
check "qemu: with the device" "$FREEHCA_ROOT/dev" qemu
check "guest: image" "$FREEHCA_ROOT/dev" guest --prepare
check "bare: images for the guest's other end" "$FREEHCA_ROOT/dev" bare x86_64 --build-only
if ! step "host: configure (for the guest)" cmake --preset host ||
  ! step "host: build (for the guest)" \
    nice cmake --build --preset host --target all guest_programs; then
  record failed 0 "host: build (for the guest)"
fi
