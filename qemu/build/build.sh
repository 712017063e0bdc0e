#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# build.sh [x86_64|aarch64|riscv64] [--sanitized ARCHIVE BINARY]: QEMU with the mlx4 device, from
# Debian's source package. The last line it prints is the path of the binary. With --sanitized,
# makes BINARY too: glue and model (ARCHIVE) with sanitizers (x86_64 alone).
#
# In the cache: qemu/tree-KEY is one source tree, configured and compiled, that is reused: a change
# of the model costs a relink. qemu/bin-KEY holds the finished binaries for one content of model and
# glue; each appears whole.
set -euo pipefail
here=$FREEHCA_ROOT/qemu/build
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
# shellcheck source=qemu/build/config.sh
. "$here/config.sh"
architecture=x86_64 name=QEMU
case ${1:-} in
  '' | --sanitized | x86_64) ;;
  aarch64 | riscv64) architecture=$1 name="QEMU $1" ;;
  *) die "no QEMU for '$1'; there are: x86_64 aarch64 riscv64" ;;
esac
[[ ${1:-} != "$architecture" ]] || shift
program=qemu-system-$architecture

sanitized=()
if [[ ${1:-} == --sanitized ]]; then
  [[ $# -eq 3 && $architecture == x86_64 ]] || die "qemu: --sanitized ARCHIVE BINARY"
  sanitized=("$2" "$3")
elif [[ $# -gt 0 ]]; then
  die "qemu: [x86_64|aarch64|riscv64], and not: $*"
fi
need build qemu
release=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
mkdir -p "$FREEHCA_CACHE/qemu"
cache_lock qemu

# 1. The model's archive, where the checkout has a device.
archive=()
if [[ -e $FREEHCA_ROOT/qemu/qom/meson.build ]]; then
  step "$name: the model's archive" "$here/archive.sh"
  archive=("$(tail -n 1 "$FREEHCA_LOGS/${name// /-}-the-model-s-archive.log")")
  [[ -f ${archive[0]} ]] || die "the build of freehca_model left no archive"
fi

# 2. A tree: one that is there, else Debian's source, else the source that the user names.
user_source=${FREEHCA_QEMU_SOURCE:-}
tree_of() { printf '%s/qemu/tree-%s' "$FREEHCA_CACHE" "$(qemu_tree_key "$1")"; }
tree=$(tree_of "debian $release")
if [[ ! -e $tree/source ]]; then
  mkdir -p "$tree"
  if ! step "$name: source package of Debian $release" "$here/source.sh" debian "$release" "$tree/source"; then
    [[ -n $user_source ]] ||
      die "no QEMU source from the archive (above: which, and why); FREEHCA_QEMU_SOURCE may name a tree or tarball"
    user_id=$(stat -Lc '%n %s %Y' "$user_source" 2>/dev/null || true)
    tree=$(tree_of "user $user_id")
    mkdir -p "$tree"
    if [[ ! -e $tree/source ]]; then
      step "$name: source from FREEHCA_QEMU_SOURCE" "$here/source.sh" user "$user_source" "$tree/source" ||
        die "no QEMU source: neither from the archive nor from FREEHCA_QEMU_SOURCE"
    fi
  fi
fi

# 3. The binary, unless this very one was built before. The key is taken from the copies in the
#    tree, which are what is compiled: the checkout may change meanwhile.
"$here/graft.py" "$tree/source" "$FREEHCA_ROOT" "${archive[@]}"
device=$(files_key "$tree/source/hw/freehca")
key=$(printf '%s\n' "$tree" "$device" | key_of)
binary=$FREEHCA_CACHE/qemu/bin-$key/$program
if [[ ! -x $binary ]]; then
  step "$name: build ($(cat "$tree/source/freehca-source"))" "$here/tree.sh" "$tree" "$program" ||
    die "QEMU does not build"
  scratch=$FREEHCA_CACHE/qemu/scratch-$key
  rm -rf "$scratch"
  mkdir -p "$scratch" "${binary%/*}"
  cp "$tree/build/$program" "$scratch/"
  mv "$scratch/$program" "$binary"
  rmdir "$scratch"
  touch "$tree"
  prune_old 8 "$FREEHCA_CACHE/qemu/"bin-*
  prune_old 2 "$FREEHCA_CACHE/qemu/"tree-*
fi
touch "${binary%/*}"
if [[ ${#sanitized[@]} -gt 0 ]]; then
  # The tree's objects may be of another checkout's glue, or be gone.
  step "QEMU: objects" "$here/tree.sh" "$tree" qemu-system-x86_64 || die "QEMU does not build"
  step "QEMU: with sanitizers" "$here/sanitized.py" "$tree" "${sanitized[@]}" || die "QEMU does not build with sanitizers"
fi
[[ ${#archive[@]} -gt 0 ]] || device="none in this checkout (stock QEMU)"
say "$name: $(cat "$tree/source/freehca-source"), device: $device"
printf '%s\n' "$binary"
