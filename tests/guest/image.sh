#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# image.sh TOOLS KERNEL RELEASE [VERSION]: makes the two halves of the guest's image where they are
# missing.
set -euo pipefail
here=$FREEHCA_ROOT/tests/guest
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"

tools=$1 kernel=$2 release=$3 version=${4:-}
cache_lock guest
if [[ ! -e $tools ]]; then
  step "guest: user space from Debian $release" "$here/tools.sh" "$tools" "$release"
  prune_old 4 "$FREEHCA_CACHE"/guest/tools-????????????????
fi
if [[ ! -e $kernel ]]; then
  step "guest: kernel ${version:-of Debian} $release" "$here/kernel.sh" "$kernel" "$release" "$version"
  prune_old 6 "$FREEHCA_CACHE"/guest/kernel-????????????????
fi
