#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# lwip.sh [--fetch]: prints the path of lwIP's source tree, for the image `web`, as its last line.
# The tree comes from Debian's source package and lies in the cache. The upstream tarball is pinned
# by its checksum; Debian's revision of it is the newest that the archive has.
# --fetch: fills the cache, and prints no path.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/private_apt.sh
. "$FREEHCA_ROOT/dev.d/private_apt.sh"

release=bookworm upstream=2.1.3+dfsg1
checksum=0a8276d09fc4e97bbba2f953d74af2388fc2195ea156be9d7589e297a68fde24
tree=$FREEHCA_CACHE/lwip/$upstream-${checksum:0:16}

fetch() {
  local version
  private_apt_use "$release" --release "$release"
  private_apt_update
  version=$(private_apt apt-cache showsrc --only-source lwip | sed -n 's/^Version: //p' |
    { grep -F "$upstream-" || true; } | sort -rV | head -n 1)
  [[ -n $version ]] || die "the archive for '$release' has no source package lwip $upstream:" \
    "name the version that it has, and its checksum, in dev.d/lwip.sh"
  rm -rf "$tree.scratch"
  mkdir -p "$tree.scratch"
  cd "$tree.scratch"
  private_apt apt-get source --download-only --only-source "lwip=$version"
  sha256sum -c - <<<"$checksum  lwip_$upstream.orig.tar.xz"
  dpkg-source -x "lwip_$version.dsc" source
  mv source "$tree"
  rm -rf "$tree.scratch"
}

if [[ ${1:-} == --fetch ]]; then
  cache_lock lwip
  [[ -e $tree ]] || fetch
  exit
fi
[[ -e $tree ]] || step "lwIP: Debian's source package" "$0" --fetch >&2
printf '%s\n' "$tree"
