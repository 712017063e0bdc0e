#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# archive.sh: builds the model's static archive with CMake; prints its path as the last line.
set -euo pipefail
build=$FREEHCA_ROOT/build/qemu-model
mkdir -p "$build"
exec 9>"$build/lock"
flock 9
if [[ ! -e $build/build.ninja ]]; then
  # As the preset `host` compiles it, so that ccache has one's objects for the other. In a folder of
  # its own, since a user may configure that preset anew at any time.
  cmake -S "$FREEHCA_ROOT" --preset host -B "$build" -DFREEHCA_TESTS=OFF >&2
fi
cmake --build "$build" --target freehca_model >&2
find "$build" -name libfreehca_model.a -print -quit
