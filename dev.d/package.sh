#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# package.sh: builds the Debian package with the programs and their manual pages; its path is the
# last line on standard output.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
cd "$FREEHCA_ROOT"
[[ $# -eq 0 ]] || die "package: unknown argument '$1'; it takes none"

need script build package
step "package: configure" cmake --preset host || die "CMake fails"
step "package: build the programs" nice cmake --build build/host --target packaged_programs ||
  die "the programs do not build"
folder=build/package
rm -rf "$folder"
step "package: pack" cpack --config build/host/CPackConfig.cmake -B "$folder" || die "cpack fails"
packages=("$folder"/*.deb)
[[ -e ${packages[0]} ]] || die "cpack left no package in $folder"
printf '%s\n' "${packages[@]/#/$FREEHCA_ROOT/}"
