#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# format.sh [FILE...]: formats the tracked C++ and Python sources, or those of the files named. (The
# C of qemu/qom follows QEMU's style, which clang-format does not know.)
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
need script lint
files=("$@") cpp=() python=()
if [[ ${#files[@]} -eq 0 ]]; then
  cd "$FREEHCA_ROOT"
  mapfile -t files < <(git ls-files '*.cpp' '*.hpp' '*.py')
fi
for file in "${files[@]}"; do
  case $file in
    *.cpp | *.hpp) cpp+=("$file") ;;
    *.py) python+=("$file") ;;
    *) die "format: $file: neither C++ nor Python" ;;
  esac
done
[[ ${#cpp[@]} -eq 0 ]] || clang-format -i "${cpp[@]}"
[[ ${#python[@]} -eq 0 ]] || black --quiet "${python[@]}"
say "formatted ${#files[@]} files"
