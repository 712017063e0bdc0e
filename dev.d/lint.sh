#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# lint.sh [--all]: licence lines, shellcheck, clang-format, clang-tidy. clang-tidy looks at the sources that
# differ from the last commit, or, with --all, at every one. All checks run; the exit status is 1 if one failed.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
all=no
case ${1:-} in
  --all) all=yes ;;
  '') ;;
  *) die "lint: unknown option '$1'" ;;
esac
need script build lint
cd "$FREEHCA_ROOT"
failed=0

step "lint: licence lines" dev.d/lint_licences.py || failed=1

mapfile -t scripts < <(git grep -lE '^#!/bin/(ba|da)?sh|^# shellcheck shell=' -- . ':!*.txt')
step "lint: shellcheck (${#scripts[@]} scripts)" shellcheck -x -P "$FREEHCA_ROOT" "${scripts[@]}" || failed=1

mapfile -t sources < <(git ls-files '*.cpp' '*.hpp')
step "lint: clang-format (${#sources[@]} files)" clang-format --dry-run -Werror "${sources[@]}" || failed=1

if [[ $all == yes ]]; then
  mapfile -t sources < <(git ls-files '*.cpp')
else
  mapfile -t sources < <({ git diff --name-only HEAD -- '*.cpp'; git ls-files -o --exclude-standard -- '*.cpp'
    git diff --name-only HEAD~1 HEAD -- '*.cpp' 2>/dev/null || true; } | sort -u | while read -r file; do
    [[ -e $file ]] && printf '%s\n' "$file"; done)
fi
if [[ ${#sources[@]} -gt 0 ]]; then
  [[ -e build/host-clang/compile_commands.json ]] ||
    step "lint: configure" cmake --preset host-clang || failed=1
  step "lint: clang-tidy (${#sources[@]} files)" dev.d/lint_tidy.py build/host-clang "${sources[@]}" || failed=1
fi
exit "$failed"
