#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# demo.sh [--in-process | --vfio-user]: our driver brings the modelled adapter up and moves verified
# data: over VFIO in a guest in QEMU, behind a virtual IOMMU; or, with --in-process, in one process
# with the model; or, with --vfio-user, in a process beside it, on a socket. Those two need no QEMU.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
cd "$FREEHCA_ROOT"

case ${1:-} in
  '') exec "$FREEHCA_ROOT/dev.d/demo_guest.sh" ;;
  --in-process) ;;
  --vfio-user) exec "$FREEHCA_ROOT/dev.d/demo_vfio_user.sh" ;;
  *) die "demo: unknown option '$1'" ;;
esac

program=freehca_demo_in_process
need script build
step "demo: configure" cmake --preset host || die "CMake fails"
step "demo: build $program" nice cmake --build --preset host --target "$program" ||
  die "the program does not build"
binary=$(find build/host -type f -name "$program" -perm -u+x -print -quit)
[[ -n $binary ]] || die "the build left no program $program"
say "demo: running"
exec "$binary"
