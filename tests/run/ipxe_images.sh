#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# ipxe_images.sh: downloads the iPXE images that qom.sh boots, so that it finds them in the cache.
# What cannot be had, the tests of qom.sh report.
set -euo pipefail
for release in bookworm trixie; do
  "$FREEHCA_ROOT/tests/qom/ipxe_image.sh" "$release" >/dev/null || true
done
