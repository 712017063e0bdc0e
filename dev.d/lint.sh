#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# lint.sh [--all] [CHECK...]: licences, lines (their length), pages (manual pages, by mandoc),
# pictures (those of the docs are what their script draws), scripts (shellcheck), words (of the
# glossary, in the folders that hold its rules), format (clang-format, and black for Python),
# symbols (what the QEMU device takes from QEMU is on a list, and Debian's three binaries export
# it), tidy (clang-tidy); default: all nine. clang-tidy looks at the sources that differ from the
# commit before the last, or, with --all, at every one. All checks run; the exit status is 1 if one
# failed.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
cd "$FREEHCA_ROOT"

licences() { step "lint: licence lines" dev.d/lint_licences.py; }

lines() { step "lint: columns" dev.d/lint_lines.py; }

words() { step "lint: words" dev.d/lint_words.py; }

pictures() { step "lint: pictures" docs/pictures/draw.py --check; }

scripts() {
  local files
  mapfile -t files < <(git grep -lE '^#!/bin/(ba|da)?sh|^# shellcheck shell=' -- . ':!*.txt')
  step "lint: shellcheck (${#files[@]} scripts)" shellcheck -x -P "$FREEHCA_ROOT" "${files[@]}"
}

format() {
  local files
  mapfile -t files < <(git ls-files '*.cpp' '*.hpp')
  step "lint: clang-format (${#files[@]} files)" clang-format --dry-run -Werror "${files[@]}" || return 1
  mapfile -t files < <(git ls-files '*.py')
  step "lint: black (${#files[@]} files)" black --check "${files[@]}"
}

pages() { step "lint: manual pages" mandoc -Tlint -Wwarning docs/man/*.1; }

symbols() {
  need qemu_x86_64 qemu_aarch64 qemu_riscv64
  local made headers glue
  made=$(qemu/build/preload.sh --glue) || return 1
  read -r headers glue <<<"$made"
  step "lint: symbols taken from QEMU" qemu/build/preload_objects.py symbols "$headers" "$FREEHCA_ROOT" "$glue" \
    /usr/bin/qemu-system-{x86_64,aarch64,riscv64}
}

changed_sources() {
  { git diff --name-only HEAD -- '*.cpp'
    git ls-files -o --exclude-standard -- '*.cpp'
    git diff --name-only HEAD~1 HEAD -- '*.cpp' 2>/dev/null || true; } | sort -u | while read -r file; do
    [[ ! -e $file ]] || printf '%s\n' "$file"
  done
}

tidy() {
  local files
  if [[ $all == yes ]]; then mapfile -t files < <(git ls-files '*.cpp'); else mapfile -t files < <(changed_sources); fi
  [[ ${#files[@]} -gt 0 ]] || return 0
  step "lint: configure" cmake --preset host-clang -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON || return 1
  step "lint: clang-tidy (${#files[@]} files)" dev.d/lint_tidy.py build/host-clang "${files[@]}"
}

all=no checks=()
for argument in "$@"; do
  case $argument in
    --all) all=yes ;;
    licences | lines | pages | pictures | scripts | words | format | symbols | tidy) checks+=("$argument") ;;
    *) die "lint: unknown argument '$argument'; there are --all, licences, lines, pages, pictures, scripts, words, format, symbols, tidy" ;;
  esac
done
[[ ${#checks[@]} -gt 0 ]] || checks=(licences lines pages pictures scripts words format symbols tidy)
need script build clang lint
failed=0
for check in "${checks[@]}"; do "$check" || failed=1; done
exit "$failed"
