#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# ipxe_image.sh RELEASE: gets the iPXE that a release of Debian ships. The last line it prints is
# the path of its ipxe.lkrn. The image is taken out of the package, which is not installed; it stays
# in the cache.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/private_apt.sh
. "$FREEHCA_ROOT/dev.d/private_apt.sh"

release=$1
folder=$FREEHCA_CACHE/ipxe/$release
cache_lock ipxe
if [[ ! -e $folder ]]; then
  scratch=$folder.scratch.$$
  trap 'rm -rf "$scratch"' EXIT
  rm -rf "$folder".scratch.*
  mkdir -p "$scratch/tree" "$scratch/image"
  private_apt_use "$release" --release "$release"
  private_apt_update >&2 || die "the lists of the archive for '$release' cannot be had"
  (cd "$scratch" && private_apt apt-get download ipxe) >&2 ||
    die "the archive gives no package ipxe of $release (see above)"
  dpkg-deb -x "$scratch"/*.deb "$scratch/tree"
  # Older packages have it in /boot.
  image=$(find "$scratch/tree" -name ipxe.lkrn -type f -print -quit)
  [[ -n $image ]] || die "the package ipxe of $release has no file ipxe.lkrn"
  mv "$image" "$scratch/image/"
  mv "$scratch/image" "$folder"
fi
printf '%s\n' "$folder/ipxe.lkrn"
