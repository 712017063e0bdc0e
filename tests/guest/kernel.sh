#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# kernel.sh FOLDER RELEASE [VERSION]: makes FOLDER (whole or not at all) with a Debian kernel:
# vmlinux, modules.cpio and release.txt.
# Without VERSION: the kernel of the release. With it (say 6.12 or 6.1.0-37): the newest Debian
# kernel whose version begins so, from the release, its backports or a later release. With
# SUITE/VERSION (bookworm-backports/6.12): from that suite alone. With the name of a file of kernels
# (iommufd): built from source, see source_kernel.sh.
set -euo pipefail
here=$FREEHCA_ROOT/tests/guest
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/private_apt.sh
. "$FREEHCA_ROOT/dev.d/private_apt.sh"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

folder=$1 release=$2 version=${3:-} suite=''
if [[ -n $version && -r $here/kernels/$version.config ]]; then
  exec "$here/source_kernel.sh" "$@"
fi
[[ $version != */* ]] || { suite=${version%%/*} version=${version#*/}; }
scratch=$folder.scratch.$$
trap 'rm -rf "$scratch"' EXIT
rm -rf "$folder".scratch.*
mkdir -p "$scratch/debs"

# The kernel packages that the lists in use offer for the wanted version, newest first.
candidates() {
  if [[ -z $version ]]; then
    private_apt apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p'
  else
    private_apt apt-cache pkgnames linux-image- |
      grep -E "^linux-image-${version//./\\.}([.+-].*)?-amd64\$" | grep -vE 'cloud|-rt-|dbg|unsigned' | sort -rV || true
  fi
}

get_kernel() {
  local package
  private_apt_use "$@"
  private_apt_update || return 1
  # A list may name a kernel whose file the archive has dropped: the next one is tried.
  for package in $(candidates); do
    (cd "$scratch/debs" && private_apt apt-get download "$package") && return 0
    echo "kernel package $package cannot be downloaded"
  done
  return 1
}

if [[ -n $suite ]]; then
  get_kernel "$suite-alone" --suite "$suite" ||
    { private_apt_update fresh && get_kernel "$suite-alone" --suite "$suite"; } ||
    die "no kernel $version can be had from the archive's $suite"
elif ! get_kernel "$release" --release "$release"; then
  private_apt_update fresh || true
  found=no
  get_kernel "$release" --release "$release" && found=yes
  if [[ $found == no && -n $version ]]; then
    for other in "$release" trixie forky sid; do
      get_kernel "$other-backports" --release "$other" --backports && found=yes && break
    done
  fi
  [[ $found == yes ]] || die "no kernel ${version:-of $release} can be had from the archive"
fi

deb=$(ls "$scratch"/debs/*.deb)
dpkg-deb --fsys-tarfile "$deb" | tar -C "$scratch" -xf - --wildcards './boot/*' '*lib/modules/*'
modules=$(find "$scratch" -maxdepth 5 -path '*lib/modules/*' -type d -prune -print -quit)
kernel=${modules##*/}
"$here/vmlinux.py" "$scratch/boot/vmlinuz-$kernel" "$scratch/vmlinux"
"$here/image_modules.py" "$modules" "$here/modules.txt" "$scratch/stage"
"$here/cpio.py" "$scratch/stage" "$scratch/modules.cpio"
printf '%s (%s)\n' "$kernel" "${deb##*/}" >"$scratch/release.txt"
(cd "$scratch" && rm -rf stage debs boot lib usr)
rm -rf "$folder"
mv "$scratch" "$folder"
