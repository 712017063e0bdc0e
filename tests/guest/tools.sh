#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# tools.sh FOLDER RELEASE PACKAGES: makes FOLDER (whole or not at all) with the guest's user space,
# or with more of it: tools.cpio, made of the packages that the file PACKAGES names, files.txt with
# the names in it, and manifest.txt with the versions of the packages.
set -euo pipefail
here=$FREEHCA_ROOT/tests/guest
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/private_apt.sh
. "$FREEHCA_ROOT/dev.d/private_apt.sh"

folder=$1 release=$2 wanted=$3
scratch=$folder.scratch.$$
trap 'rm -rf "$scratch" "$scratch.apt"' EXIT
rm -rf "$folder".scratch.*
mkdir -p "$scratch"

mapfile -t packages < <(sed -n 's/^\([a-z][^ ]*\).*/\1/p' "$wanted")
private_apt_use "$release" --release "$release"
private_apt_update
download() {
  rm -rf "$scratch/debs"
  mkdir -p "$scratch/debs/partial"
  private_apt apt-get install -y --download-only -o Dir::Cache::Archives="$scratch/debs" "${packages[@]}"
}
# An old list may name files that the archive no longer has.
download || { private_apt_update fresh && download; }

(cd "$scratch/debs" && printf '%s\n' *.deb) >"$scratch/manifest.txt"
"$here/image_tools.py" "$scratch/debs" "$wanted" "$scratch/stage"
"$here/cpio.py" "$scratch/stage" "$scratch/tools.cpio"
(cd "$scratch/stage" && find . ! -type d | cut -c 3- | LC_ALL=C sort) >"$scratch/files.txt"
rm -rf "$scratch/stage" "$scratch/debs" "$folder"
mv "$scratch" "$folder"
