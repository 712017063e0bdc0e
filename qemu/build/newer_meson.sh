#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# newer_meson.sh FOLDER RELEASE OTHER: unpacks a meson of at least 1.5 into FOLDER (whole or not at
# all): from the backports of RELEASE, or the one of the later release OTHER. It is a pure Python
# package, so that neither the system nor a package manager has to know of it.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/private_apt.sh
. "$FREEHCA_ROOT/dev.d/private_apt.sh"

folder=$1 release=$2 other=$3
scratch=$folder.scratch.$$
trap 'rm -rf "$scratch"' EXIT
rm -rf "$folder".scratch.*
mkdir -p "$scratch/tree"

# try_version VERSION: downloads and unpacks this meson from the lists in use.
try_version() {
  dpkg --compare-versions "$1" ge 1.5 || return 1
  (cd "$scratch" && rm -f ./*.deb && private_apt apt-get download "meson=$1" && dpkg-deb -x ./*.deb tree)
}

try_lists() {
  local version
  private_apt_use "$@"
  private_apt_update || return 1
  for version in $(private_apt apt-cache madison meson | cut -d '|' -f 2 | sort -rV); do
    try_version "$version" && return 0
  done
  return 1
}

try_lists "$release-backports" --release "$release" --backports || try_lists "$other" --release "$other" ||
  die "no meson from 1.5 on: neither in the backports of $release nor in $other"
rm -rf "$folder"
mv "$scratch/tree" "$folder"
