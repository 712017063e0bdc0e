#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# release.sh: everything that ships compiles with CMAKE_BUILD_TYPE=Release, where g++ warns of other
# things than at -O2. Each warning is an error here.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
cd "$FREEHCA_ROOT"
step "release: configure" cmake --preset release || die "CMake fails"
step "release: build" nice cmake --build --preset release || die "it does not build"
