#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# source_kernel.sh FOLDER RELEASE NAME: makes FOLDER (whole or not at all) as kernel.sh does, with a
# kernel that is built from Debian's source package: allnoconfig and the options of
# kernels/NAME.config, whose line `# source:` names the package. What was built stays in the cache
# under the package's version and the options' hash, since it takes a quarter of an hour.
set -euo pipefail
here=$FREEHCA_ROOT/tests/guest
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/private_apt.sh
. "$FREEHCA_ROOT/dev.d/private_apt.sh"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

folder=$1 release=$2 name=$3
options=$here/kernels/$name.config
package=$(sed -n 's/^# source: //p' "$options")
scratch=$folder.scratch.$$
trap 'rm -rf "$scratch"' EXIT
rm -rf "$folder".scratch.*
mkdir -p "$scratch"

# newest_of NAME [apt_sources.py options]: the version of the package that these lists offer.
newest_of() {
  private_apt_use "$@"
  private_apt_update || return 1
  version=$(private_apt apt-cache show --no-all-versions "$package" 2>/dev/null | sed -n 's/^Version: //p')
  [[ -n $version ]]
}
newest_of "$release" --release "$release" ||
  newest_of "$release-backports" --release "$release" --backports ||
  die "no package $package can be had from the archive's $release or its backports"

built=$FREEHCA_CACHE/guest/built-kernel-$({ echo "$version"; cd "$here" && files_key "kernels/$name.config"; } | key_of)
if [[ ! -e $built ]]; then
  (cd "$scratch" && private_apt apt-get download "$package=$version" && dpkg-deb -x ./*.deb deb &&
    mkdir source && tar -C source --strip-components=1 -xf deb/usr/src/"$package".tar.xz && rm -rf deb ./*.deb)
  make_kernel() {
    nice -n 19 make -s -C "$scratch/source" O="$scratch/objects" ARCH=x86_64 \
      KBUILD_BUILD_USER=freehca KBUILD_BUILD_HOST=guest "$@"
  }
  make_kernel KCONFIG_ALLCONFIG="$options" allnoconfig
  # An option whose dependencies are missing is dropped without a word.
  while IFS= read -r option; do
    [[ $option == *=n ]] || grep -qxF -- "$option" "$scratch/objects/.config" ||
      die "the kernel's configuration does not take $option"
  done < <(grep '^CONFIG_' "$options")
  make_kernel -j "$(nproc)" vmlinux
  kernel=$(<"$scratch/objects/include/config/kernel.release")
  mkdir -p "$scratch/built/lib/modules/$kernel"
  strip -o "$scratch/built/vmlinux" "$scratch/objects/vmlinux"
  cp "$scratch/objects"/modules.builtin{,.modinfo} "$scratch/built/lib/modules/$kernel"
  : >"$scratch/built/lib/modules/$kernel/modules.order"
  mv "$scratch/built" "$built"
  rm -rf "$scratch/source" "$scratch/objects"
  prune_old 3 "$FREEHCA_CACHE"/guest/built-kernel-????????????????
fi
touch "$built"

modules=$(find "$built/lib/modules" -mindepth 1 -maxdepth 1)
cp "$built/vmlinux" "$scratch/vmlinux"
"$here/image_modules.py" "$modules" "$here/modules.txt" "$scratch/stage"
"$here/cpio.py" "$scratch/stage" "$scratch/modules.cpio"
printf '%s (%s %s, %s)\n' "${modules##*/}" "$package" "$version" "kernels/$name.config" >"$scratch/release.txt"
rm -rf "$scratch/stage" "$folder"
mv "$scratch" "$folder"
