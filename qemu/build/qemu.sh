#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# ./dev qemu [x86_64|aarch64|riscv64] [--build]: a QEMU with the device `mlx4`; the last line is its
# path. It is Debian's own, with the device in a shared object that is preloaded (preload.sh); with
# --build a patched one, compiled from Debian's source package (build.sh).
set -euo pipefail
words=() how=preload
for word in "$@"; do
  case $word in
    -h | --help) sed -n '/^# ..dev qemu/,/^[^#]/s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --build) how=build ;;
    *) words+=("$word") ;;
  esac
done
exec "$FREEHCA_ROOT/qemu/build/$how.sh" "${words[@]}"
