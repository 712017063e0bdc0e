#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# preload.sh [x86_64|aarch64|riscv64] [--archive FILE | --glue]: Debian's own QEMU, unpatched, with
# the device `mlx4` in a shared object that is preloaded. The last line it prints is the path of a
# program that runs it. FILE is an archive of the model that stands in for the one at -O2. With
# --glue, only what does not depend on the archive is made, and the last line has the folders of the
# headers and of the glue. Exit status 3: no version of QEMU can be had both as a package and as a
# source, or the glue does not compile against it.
#
# In the cache: qemu/headers-KEY is QEMU's headers and generators of one version, qemu/glue-KEY the
# compiled glue, qemu/preload-KEY the shared objects for one content of everything and for the very
# QEMUs that are installed. Each appears whole.
set -euo pipefail
here=$FREEHCA_ROOT/qemu/build
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
# shellcheck source=qemu/build/versions.sh
. "$here/versions.sh"

architecture=x86_64 archive='' glue_only=no
while [[ $# -gt 0 ]]; do
  case $1 in
    x86_64 | aarch64 | riscv64) architecture=$1; shift ;;
    --archive) archive=$(realpath "${2:?--archive wants a file}"); shift 2 ;;
    --glue) glue_only=yes; shift ;;
    *) die "qemu: [x86_64|aarch64|riscv64], and not: $*" ;;
  esac
done
declare -A package_of=([x86_64]=qemu-system-x86 [aarch64]=qemu-system-arm [riscv64]=qemu-system-misc)
package=${package_of[$architecture]}
program=qemu-system-$architecture
need preload "qemu_$architecture"
mkdir -p "$FREEHCA_CACHE/qemu"
cache_lock qemu-preload

# 1. The model's archive, beside the rest: it takes the most time.
making=
if [[ -z $archive && $glue_only == no ]]; then
  need build
  step "QEMU: the model's archive" "$here/archive.sh" &
  making=$!
  trap 'kill "$making" 2>/dev/null || true' EXIT
fi

# 2. The headers of exactly the version that is installed; else a version of which there are both.
headers_of() {
  { printf '%s\n' "$1"; cat "$here/source_headers.py"; } | key_of | sed "s|^|$FREEHCA_CACHE/qemu/headers-|"
}
get_headers() {
  installed=$(installed_version "$package")
  version=$(source_version "$installed")
  headers=$(headers_of "$version")
  [[ -e $headers ]] || step "QEMU: headers of $version" "$here/headers.sh" "$version" "$headers"
}
# install_match: installs the packages of QEMU in a version whose source the archive has.
install_match() {
  local match packages run=()
  match=$({
    apt-cache madison "$package" | awk -F ' *[|] *' '$3 ~ /Packages/ { print "package", $2 }'
    sed -n '/^source /p' "$FREEHCA_LOGS/$(printf '%s' "QEMU: headers of $version" | tr -cs 'A-Za-z0-9._+-' '-').log"
  } | matching_version "$installed") || return 1
  # Of packages for all architectures there is no version that was only compiled again.
  mapfile -t packages < <(qemu_packages_installed | while read -r name; do
    for wanted in "$match" "$(source_version "$match")"; do
      [[ -z $(apt-cache show "$name=$wanted" 2>/dev/null) ]] || { printf '%s=%s\n' "$name" "$wanted"; break; }
    done
  done)
  [[ $EUID -eq 0 ]] || run=(sudo)
  run+=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8)
  say "QEMU $installed is installed, and the archive has no source of it; installing $match, of which it has both"
  apt_get "QEMU: installing $match" "${run[@]}" apt-get -o DPkg::Lock::Timeout=60 install -y \
    --no-install-recommends "${packages[@]}"
}
# no_preload REASON: the other ways.
no_preload() {
  say "$1"
  say "without a preloaded device: ./dev guest --device-server (a QEMU that needs no patch, and the adapter in a process beside it), or ./dev qemu --build"
  exit 3
}
status=0
get_headers || status=$?
if [[ $status -eq 3 ]]; then
  { install_match && get_headers; } ||
    no_preload "QEMU $installed is installed ($package), and the archive has neither its source nor a newer package with a source"
elif [[ $status -ne 0 ]]; then
  die "the headers of QEMU $version cannot be had; ./dev qemu --build builds QEMU instead"
fi

# 3. The glue, which depends on the headers and on nothing that is installed but glib.
glue_key=$({
  printf '%s\n' "$headers"
  gcc --version | head -n 1
  cd "$FREEHCA_ROOT" && files_key qemu/qom/*.[ch] qemu/qom/trace-events qemu/qom/preload/{guard.c,config.txt} \
    qemu/model/include qemu/build/preload_objects.py
} | key_of)
glue=$FREEHCA_CACHE/qemu/glue-$glue_key
if [[ ! -e $glue ]]; then
  scratch=$glue.scratch.$$
  rm -rf "$FREEHCA_CACHE"/qemu/glue-*.scratch.*
  step "QEMU: the glue" nice "$here/preload_objects.py" compile "$headers" "$FREEHCA_ROOT" "$scratch" ||
    no_preload "the glue does not compile against QEMU $version"
  mv "$scratch" "$glue"
fi
if [[ $glue_only == yes ]]; then
  touch "$glue" "$headers"
  printf '%s %s\n' "$headers" "$glue"
  exit 0
fi
if [[ -n $making ]]; then
  wait "$making" || die "the model's archive does not build"
  trap - EXIT
  archive=$(tail -n 1 "$FREEHCA_LOGS/QEMU-the-model-s-archive.log")
fi
[[ -f $archive ]] || die "the build of freehca_model left no archive"

# 4. The objects, for the QEMUs of this version that are installed.
programs=()
for name in x86_64 aarch64 riscv64; do
  other=$(installed_version "${package_of[$name]}") || continue
  [[ $(source_version "$other") != "$version" ]] || programs+=("/usr/bin/qemu-system-$name")
done
key=$(objects_key "$glue_key" "$archive" "${programs[@]}")
folder=$FREEHCA_CACHE/qemu/preload-$key
if [[ ! -e $folder ]]; then
  scratch=$folder.scratch.$$
  rm -rf "$FREEHCA_CACHE"/qemu/preload-*.scratch.*
  step "QEMU: shared objects" "$here/preload_objects.py" link "$headers" "$FREEHCA_ROOT" "$glue" "$archive" \
    "$version" "$scratch" "${programs[@]}" || die "the objects for QEMU $version cannot be linked; there is ./dev qemu --build"
  # For tests, which link them again.
  printf '%s\n' "$headers" "$glue" "$archive" "$version" "${programs[0]}" >"$scratch/inputs"
  for path in "${programs[@]}"; do
    # What is preloaded already stays in front: a sanitizer's library has to be the first.
    cat >"$scratch/${path##*/}" <<END
#!/bin/sh
LD_PRELOAD="\${LD_PRELOAD:+\$LD_PRELOAD:}$folder/freehca-mlx4.so:$folder/freehca-qtest.so"
export LD_PRELOAD
exec $path "\$@"
END
    chmod +x "$scratch/${path##*/}"
  done
  mv "$scratch" "$folder"
  prune_old 8 "$FREEHCA_CACHE"/qemu/preload-*
  prune_old 4 "$FREEHCA_CACHE"/qemu/glue-*
  prune_old 2 "$FREEHCA_CACHE"/qemu/headers-*
fi
touch "$folder" "$glue" "$headers"
say "QEMU $architecture: Debian's $installed, with the device preloaded"
printf '%s\n' "$folder/$program"
