#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# headers.sh VERSION FOLDER: makes FOLDER (whole or not at all) of the headers and generators of
# Debian's source package of QEMU of exactly this version. Exit status 3: the archive does not list
# this version; the versions that it lists are the last lines, "source VERSION" each.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/private_apt.sh
. "$FREEHCA_ROOT/dev.d/private_apt.sh"

version=$1 folder=$2
release=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
scratch=$folder.scratch.$$
trap 'rm -rf "$scratch"' EXIT
rm -rf "$folder".scratch.*
mkdir -p "$scratch/package"
listed=()

# look [fresh]: whether the lists in use name this version; adds the versions that they name.
look() {
  local versions
  private_apt_update "$@" || return 1
  mapfile -t versions < <(private_apt apt-cache showsrc --only-source qemu 2>/dev/null |
    sed -n 's/^Version: //p' | sort -u)
  listed+=("${versions[@]}")
  [[ " ${versions[*]} " == *" $version "* ]]
}

find_source() {
  private_apt_use "$release" --release "$release"
  if look || look fresh; then return 0; fi
  # A user may have taken QEMU from there.
  private_apt_use "$release-backports" --release "$release" --backports
  look
}

if ! find_source; then
  echo "the archive lists no source package qemu $version"
  printf 'source %s\n' "${listed[@]}" | sort -u
  exit 3
fi
(cd "$scratch/package" && private_apt apt-get source --download-only --only-source "qemu=$version")
"$FREEHCA_ROOT/qemu/build/source_headers.py" "$scratch/package" "$scratch/headers"
rm -rf "$folder"
mv "$scratch/headers" "$folder"
