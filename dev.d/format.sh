#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# format.sh [FILE...]: formats the tracked C++ sources, or the files named. (The C of qemu/qom follows QEMU's
# style, which clang-format does not know.)
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
need script lint
files=("$@")
if [[ ${#files[@]} -eq 0 ]]; then
  cd "$FREEHCA_ROOT"
  mapfile -t files < <(git ls-files '*.cpp' '*.hpp')
fi
[[ ${#files[@]} -eq 0 ]] || clang-format -i "${files[@]}"
say "formatted ${#files[@]} files"
