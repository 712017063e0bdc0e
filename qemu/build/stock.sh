#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# stock.sh: gets the QEMU that Debian ships in trixie-backports, the first with a client of
# vfio-user, with all libraries that it needs. The last line it prints is the path of a program that
# runs it. Nothing of it is installed: the packages are unpacked in the cache.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/private_apt.sh
. "$FREEHCA_ROOT/dev.d/private_apt.sh"

release=trixie
folder=$FREEHCA_CACHE/qemu/stock-$(files_key "${BASH_SOURCE[0]}" "$FREEHCA_ROOT/dev.d/private_apt.sh")
program=qemu-system-x86_64
mkdir -p "$FREEHCA_CACHE/qemu"
cache_lock qemu-stock

mkdir -p "$FREEHCA_LOGS"

fetch() {
  private_apt_use "stock-$release" --release "$release" --backports &&
    private_apt_update &&
    private_apt apt-get install --download-only -y -t "$release-backports" \
      -o Dir::Cache::Archives="$scratch/archives" qemu-system-x86 seabios
}

unpack() {
  local package
  for package in "$scratch/archives"/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$scratch/tree" --no-same-owner \
      --keep-directory-symlink
  done
}

# The loader of that release runs it on libraries of that release, whatever this machine's are.
write_program() {
  cat >"$scratch/tree/$program" <<'END'
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")
exec "$root/lib64/ld-linux-x86-64.so.2" --argv0 qemu-system-x86_64 \
  --library-path "$root/usr/lib/x86_64-linux-gnu:$root/usr/lib" \
  "$root/usr/bin/qemu-system-x86_64" -L "$root/usr/share/qemu" -L "$root/usr/share/seabios" "$@"
END
  chmod +x "$scratch/tree/$program"
}

if [[ ! -e $folder ]]; then
  scratch=$folder.scratch.$$
  trap 'rm -rf "$scratch"' EXIT
  rm -rf "$FREEHCA_CACHE"/qemu/stock-*.scratch.*
  mkdir -p "$scratch/tree/usr/"{bin,lib,lib64,sbin} "$scratch/archives/partial"
  # As the package base-files has them.
  for name in bin lib lib64 sbin; do ln -s "usr/$name" "$scratch/tree/$name"; done
  say "stock QEMU: packages of $release-backports"
  fetch >"$FREEHCA_LOGS/stock-qemu.log" 2>&1 ||
    die "the archive gives no package qemu-system-x86 of $release-backports ($FREEHCA_LOGS/stock-qemu.log)"
  unpack
  write_program
  mv "$scratch/tree" "$folder"
  rm -rf "$scratch"
  prune_old 1 "$FREEHCA_CACHE"/qemu/stock-*
fi
version=$("$folder/$program" --version | sed -n '1s/.*version //p')
[[ -n $version ]] || die "the stock QEMU in $folder does not run"
say "stock QEMU: $version"
printf '%s\n' "$folder/$program"
