#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# check_trixie.sh [--link]: does the device's glue also compile against the QEMU of Debian's next
# release? With --link the whole emulator is built with it. Exit status 77: cannot be told here, and
# why.
set -euo pipefail
here=$FREEHCA_ROOT/qemu/build
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
# shellcheck source=qemu/build/config.sh
. "$here/config.sh"
later=trixie

skip() {
  say "SKIPPED: $*"
  exit 77
}

[[ -e $FREEHCA_ROOT/qemu/qom/meson.build ]] || skip "this checkout has no device"
need qemu
release=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
cache_lock qemu-trixie
step "trixie: the model's archive" "$here/archive.sh"
archive=$(tail -n 1 "$FREEHCA_LOGS/trixie-the-model-s-archive.log")

# The tree's key does not name a QEMU version: a cached tree stays good.
tree=$FREEHCA_CACHE/qemu/$later-$(qemu_tree_key "debian $later")
meson=$FREEHCA_CACHE/qemu/meson-$(files_key "$here/newer_meson.sh")
mkdir -p "$tree"
if [[ ! -e $tree/source ]]; then
  step "trixie: source package of QEMU" "$here/source.sh" debian "$later" "$tree/source" ||
    skip "the archive gives no QEMU source of $later (see above)"
fi
if dpkg --compare-versions "$(/usr/bin/meson --version)" lt 1.5; then
  if [[ ! -e $meson ]]; then
    step "trixie: a newer meson" "$here/newer_meson.sh" "$meson" "$release" "$later" ||
      skip "the archive gives no meson from 1.5 on (see above)"
  fi
  export QEMU_PYTHONPATH=$meson/usr/lib/python3/dist-packages
fi
# A Python package that only QEMU's own tests want, and that the older release does not have.
sed -i '/^pycotap/d' "$tree/source/pythondeps.toml"

"$here/graft.py" "$tree/source" "$FREEHCA_ROOT" "$archive"
# The list of objects comes from ninja, which has to be configured for that.
step "trixie: configure ($(cat "$tree/source/freehca-source"))" "$here/tree.sh" "$tree" build.ninja ||
  die "QEMU of $later does not configure with the device"
mapfile -t objects < <(ninja -C "$tree/build" -t targets all | sed -n 's/^\([^:]*freehca_qom[^:]*\.c\.o\):.*/\1/p')
[[ ${#objects[@]} -gt 0 ]] || die "QEMU's build of $later has no object of the device"
step "trixie: compile the glue (${#objects[@]} files)" "$here/tree.sh" "$tree" "${objects[@]}" ||
  die "the glue does not compile against QEMU of $later"
touch "$tree"
prune_old 1 "$FREEHCA_CACHE/qemu/$later"-*
if [[ ${1:-} == --link ]]; then
  step "trixie: build and link" "$here/tree.sh" "$tree" qemu-system-x86_64 || die "QEMU of $later does not link"
fi
say "trixie: the glue compiles against $(cat "$tree/source/freehca-source")"
