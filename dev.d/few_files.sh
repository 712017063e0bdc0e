# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# The quick build of the preset `demo`: the sources of a folder are compiled as one. Sourced, never
# run. Needs console.sh and stages.sh.

# build_few_files TARGET...: into build/demo.
build_few_files() {
  timed "configure" step "demo: configure" cmake --preset demo -D FREEHCA_FEW_FILES=ON || die "CMake fails"
  # Sources that are compiled together must not have names in common; built one by one they may.
  if ! timed "compile: $*" step "demo: build $*" cmake --build build/demo --target "$@"; then
    say "the quick way to build does not work with these sources; building them one by one"
    step "demo: configure" cmake --preset demo -D FREEHCA_FEW_FILES=OFF || die "CMake fails"
    timed "compile, one by one: $*" step "demo: build $*" cmake --build build/demo --target "$@" ||
      die "the programs do not build"
  fi
}
