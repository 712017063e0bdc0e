#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# image.sh KERNEL RELEASE VERSION [TOOLS PACKAGES]...: makes the parts of the guest's image that are
# missing. VERSION: '' is the release's own kernel. TOOLS has the user space from the packages that
# the file PACKAGES names.
set -euo pipefail
here=$FREEHCA_ROOT/tests/guest
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"

kernel=$1 release=$2 version=$3
shift 3
cache_lock guest
while [[ $# -gt 0 ]]; do
  if [[ ! -e $1 ]]; then
    step "guest: user space from Debian $release, $(basename "$2" .txt)" \
      "$here/tools.sh" "$1" "$release" "$2"
    prune_old 8 "$FREEHCA_CACHE"/guest/tools-????????????????
  fi
  shift 2
done
if [[ ! -e $kernel ]]; then
  step "guest: kernel ${version:-of Debian} $release" "$here/kernel.sh" "$kernel" "$release" "$version"
  prune_old 6 "$FREEHCA_CACHE"/guest/kernel-????????????????
fi
