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
  # Nothing here may depend on where the checkout lies: the archive's content is part of a cache
  # key.
  cmake -S "$FREEHCA_ROOT" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=g++ \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DFREEHCA_TESTS=OFF \
    -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$FREEHCA_ROOT=." >&2
fi
cmake --build "$build" --target freehca_model >&2
find "$build" -name libfreehca_model.a -print -quit
