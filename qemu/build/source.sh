#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# source.sh debian RELEASE FOLDER | source.sh user PATH FOLDER
# Unpacks QEMU's source into FOLDER (which appears whole or not at all).
#   debian: Debian's source package of that release; every version that the archive lists, newest
#   first,
#           because archives drop files between point releases.
#   user:   a source tree or a tarball that the user names.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/private_apt.sh
. "$FREEHCA_ROOT/dev.d/private_apt.sh"

kind=$1 what=$2 folder=$3
scratch=$folder.scratch.$$
trap 'rm -rf "$scratch"' EXIT
rm -rf "$folder".scratch.*
mkdir -p "$scratch"

debian() {
  local version versions why reasons=()
  private_apt_use "$what" --release "$what"
  if ! private_apt_update; then
    echo "the lists of the archive for '$what' cannot be had"
    return 1
  fi
  mapfile -t versions < <(private_apt apt-cache showsrc --only-source qemu |
    sed -n 's/^Version: //p' | sort -u | sort -rV)
  if [[ ${#versions[@]} -eq 0 ]]; then
    echo "the archive for '$what' lists no source package qemu"
    return 1
  fi
  for version in "${versions[@]}"; do
    rm -rf "${scratch:?}"/*
    why="see above"
    if ! (cd "$scratch" && private_apt apt-get source --download-only --only-source "qemu=$version"); then
      why="it cannot be downloaded"
    elif ! (cd "$scratch" && dpkg-source -x ./*.dsc tree); then
      why="it cannot be unpacked"
    else
      printf 'Debian %s, qemu %s\n' "$what" "$version" >"$scratch/tree/freehca-source"
      return 0
    fi
    reasons+=("qemu $version: $why")
  done
  printf 'tried: %s\n' "${reasons[@]}"
  return 1
}

user() {
  if [[ -d $what ]]; then
    [[ -x $what/configure && -e $what/VERSION ]] || { echo "$what is no QEMU source tree"; return 1; }
    mkdir "$scratch/tree"
    tar -C "$what" --exclude=./.git --exclude=./build -cf - . | tar -C "$scratch/tree" -xf -
  elif [[ -f $what ]]; then
    mkdir "$scratch/tree"
    tar -C "$scratch/tree" --strip-components=1 -xf "$what"
    [[ -x $scratch/tree/configure ]] || { echo "$what is no tarball of QEMU's source"; return 1; }
  else
    echo "$what does not exist"
    return 1
  fi
  printf '%s\n' "$what" >"$scratch/tree/freehca-source"
}

case $kind in
  debian | user) "$kind" ;;
  *) die "usage: source.sh debian RELEASE FOLDER | source.sh user PATH FOLDER" ;;
esac
rm -rf "$folder"
mv "$scratch/tree" "$folder"
