#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# trixie_root.sh: makes a folder in the cache with Debian trixie's pyverbs, pingpongs and perftest,
# and what they need, or finds it there. Prints its path as the last line. The packages are
# unpacked, not installed: their scripts do not run, and nothing is compiled. Needs root (the owners
# of files).
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/private_apt.sh
. "$FREEHCA_ROOT/dev.d/private_apt.sh"
release=trixie
packages=(base-files base-passwd bash coreutils dash iproute2 python3 util-linux)
packages+=(ibverbs-utils perftest python3-pyverbs rdma-core)

[[ $EUID -eq 0 ]] || die "a root of $release needs root: it keeps the owners of the packages' files"
cache_lock programs-root
private_apt_use "$release" --release "$release"
private_apt_update
# Names and versions of all packages: the root is made again when the archive has newer ones.
mapfile -t files < <(private_apt apt-get install -y --print-uris "${packages[@]}" | sed -n "s/^'[^']*' \([^ ]*\).*/\1/p" | LC_ALL=C sort)
[[ ${#files[@]} -gt 0 ]] || die "the archive has no python3-pyverbs of $release"
folder=$FREEHCA_CACHE/programs/$release-$({ cat "$0"; printf '%s\n' "${files[@]}"; } | key_of)
if [[ -d $folder ]]; then
  touch "$folder"
  printf '%s\n' "$folder"
  exit 0
fi

scratch=$folder.scratch.$$
trap 'rm -rf "$scratch"' EXIT
rm -rf "$FREEHCA_CACHE/programs/$release"-*.scratch.*
mkdir -p "$scratch/debs/partial" "$scratch/root"
download() { private_apt apt-get install -y --download-only -o Dir::Cache::Archives="$scratch/debs" "${packages[@]}" >/dev/null; }
# An old list may name files that the archive no longer has.
download || { private_apt_update fresh && download; } || die "the packages of $release cannot be had"

# base-files has the symbolic links /bin, /lib and /sbin, through which other packages are unpacked.
for package in "$scratch/debs"/base-files_*.deb "$scratch/debs"/*.deb; do
  dpkg-deb -x "$package" "$scratch/root"
done
for table in passwd group; do
  cp "$scratch/root/usr/share/base-passwd/$table.master" "$scratch/root/etc/$table"
done
mkdir -p "$scratch/root/usr/local/bin" "$scratch/root/mnt"
printf '127.0.0.1 localhost\n' >"$scratch/root/etc/hosts"
# The tests ask `rdma link show -j`, which asks the kernel by netlink, for the network interfaces of
# RDMA devices. A kernel with its InfiniBand core and no adapter answers with an empty list. This
# stands for such a kernel: not every kernel has the core.
cat >"$scratch/root/usr/local/bin/rdma" <<'SCRIPT'
#!/bin/sh
[ "$*" = "link show -j" ] || { echo "rdma: only 'link show -j' has an answer here" >&2; exit 1; }
echo "[]"
SCRIPT
chmod 755 "$scratch/root" "$scratch/root/usr/local/bin/rdma"
printf '%s\n' "${files[@]}" >"$scratch/root/packages.txt"
mv "$scratch/root" "$folder"
rm -rf "$scratch"
prune_old 1 "$FREEHCA_CACHE/programs/$release"-*
printf '%s\n' "$folder"
