#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# demo_guest.sh: our driver in a Linux guest, over VFIO, on the modelled adapter in Debian's QEMU.
# What is downloaded and unpacked (QEMU and its headers, the guest's image) comes beside what is
# compiled; the seconds of each are its last lines.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
# shellcheck source=dev.d/stages.sh
. "$FREEHCA_ROOT/dev.d/stages.sh"
# shellcheck source=dev.d/few_files.sh
. "$FREEHCA_ROOT/dev.d/few_files.sh"
cd "$FREEHCA_ROOT"
stages_begin demo

# 1. What the guest's image is made with; it is made while the compilers are installed.
timed "packages: for the guest's image" need script guest
timed "guest: user space and kernel" "$FREEHCA_ROOT/dev" guest --prepare &
image=$!

# 2. The compilers, and then QEMU while they work. Exit status 3: no QEMU to preload into.
timed "packages: compilers" need demo
{ timed "packages: QEMU" need preload qemu_x86_64 &&
  timed "QEMU: headers and glue" "$FREEHCA_ROOT/qemu/build/preload.sh" --glue >/dev/null; } &
glue=$!
trap 'kill "$image" "$glue" 2>/dev/null || true' EXIT
build_few_files hcactl freehca_model

status=0
wait "$glue" || status=$?
where=()
if [[ $status -eq 0 ]]; then
  qemu=$(timed "QEMU: link" "$FREEHCA_ROOT/qemu/build/preload.sh" \
    --archive "$FREEHCA_ROOT/build/demo/qemu/model/libfreehca_model.a" | tail -n 1)
  where=(--qemu "$qemu")
elif [[ $status -eq 3 ]]; then
  say "demo: a QEMU that needs no patch instead, and the adapter in a process beside it"
  build_few_files freehca-device
  where=(--device-server)
else
  die "no QEMU with the device"
fi
wait "$image" || die "no guest"
trap - EXIT

say "demo: booting the guest"
timed "guest: boot and traffic" env FREEHCA_PRESET=demo "$FREEHCA_ROOT/dev" guest "${where[@]}" --driver vfio \
  --script "$FREEHCA_ROOT/tests/guest/demo.sh" --timeout 300 --program hcactl \
  --log "$FREEHCA_LOGS/demo-kernel.log"
say "demo: all well"
stages_end
