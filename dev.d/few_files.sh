# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# Builds in which the sources of a folder are compiled as one (cmake/few_files.cmake). Sourced,
# never run. build_few_files needs console.sh and stages.sh.

# build_few_files TARGET...: the quick build of the preset `demo`, into build/demo.
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

# few_files_option FOLDER ON|HOSTED: in a whole `./dev test` (FREEHCA_FEW_FILES=yes), CMake's option
# for a build folder that is not there yet, a word a line. One that is there keeps what it was
# configured with, so that a developer's builds of one changed source stay quick.
few_files_option() {
  [[ ${FREEHCA_FEW_FILES:-} != yes || -e $1/CMakeCache.txt ]] ||
    printf '%s\n' -D "FREEHCA_FEW_FILES=$2"
}
