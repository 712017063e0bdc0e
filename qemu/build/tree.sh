#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# tree.sh TREE TARGET...: configures TREE/source into TREE/build (once) and builds the ninja targets
# there. The caller holds the lock of the tree. QEMU_PYTHONPATH may name a folder with a newer meson
# than the system's.
set -euo pipefail
# shellcheck source=qemu/build/config.sh
. "$FREEHCA_ROOT/qemu/build/config.sh"
export PYTHONPATH=${QEMU_PYTHONPATH:-}
tree=$1
shift

# meson keeps absolute paths, so the build folder cannot be renamed into place: a stamp says that it
# is whole.
if [[ ! -e $tree/configured ]]; then
  rm -rf "$tree/build"
  mkdir -p "$tree/build"
  cd "$tree/build"
  # Neither --python nor --meson: both come from the PATH, where the system's own stand first.
  # Before 8.1 the two options exclude each other, and from then on there is no --meson.
  "$tree/source/configure" "${QEMU_CONFIGURE[@]}"
  touch "$tree/configured"
fi
nice ninja -C "$tree/build" "$@"
