#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# bare.sh [ARCHITECTURE|BOARD] [IMAGE] [OPTIONS] [-- QEMU ARGUMENTS]: builds an image that runs
# without an operating system, and boots it in QEMU with the modelled adapter. A board is a folder
# of hal/targets/boards (docs/porting.md). Options:
#   --build-only     builds the image and does not boot it
#   --machine NAME   a machine of QEMU; a name that does not exist prints the list
#   --append WORDS   words for the image
set -euo pipefail
# shellcheck source=dev.d/few_files.sh
. "$FREEHCA_ROOT/dev.d/few_files.sh"
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"

architecture=x86_64 image=bringup build_only=no
case ${1:-} in
  '' | -*) ;;
  *) architecture=$1; shift ;;
esac
case ${1:-} in
  '' | -*) ;;
  *) image=$1; shift ;;
esac
words=()
while [[ $# -gt 0 && $1 != -- ]]; do
  if [[ $1 == --build-only ]]; then build_only=yes; else words+=("$1"); fi
  shift
done

# known WHAT NAME NAMES...: NAME is one of them.
known() {
  local what=$1 name=$2
  shift 2
  [[ " $* " == *" $name "* ]] || { say "bare: no $what '$name'; there are: $*"; exit 2; }
}
cd "$FREEHCA_ROOT"
mapfile -t architectures < <(basename -s -bare -a hal/targets/*-bare hal/targets/boards/*)
architectures+=(aarch64-incoherent)
mapfile -t images < <(dirname examples/bare/*/main.cpp | xargs basename -a)
known architecture "$architecture" "${architectures[@]}"
known image "$image" "${images[@]}"

need script
# Nothing is built for words that would be refused afterwards.
tests/bare/boot.py --check "$architecture" "$image" "${words[@]}"
need build lwip
[[ $architecture == x86_64 ]] || need cross
preset=bare-$architecture
mapfile -t options < <(few_files_option "build/$preset" ON)
# The other images do not need lwIP's source.
if lwip=$(dev.d/lwip.sh); then
  options+=(-D "FREEHCA_LWIP=$lwip")
elif [[ $image == web ]]; then
  die "the image web needs lwIP's source"
else
  warn "the image web is not built: lwIP's source cannot be had"
fi
step "$preset: configure" cmake --preset "$preset" "${options[@]}" || die "CMake fails"
step "$preset: build" nice cmake --build --preset "$preset" || die "the images do not build"
[[ $build_only == no ]] || exit 0
qemu=$("$FREEHCA_ROOT/dev" qemu "${architecture%%-*}")
exec "$FREEHCA_ROOT/tests/bare/boot.py" --qemu "$qemu" "$architecture" "$image" "${words[@]}" "$@"
