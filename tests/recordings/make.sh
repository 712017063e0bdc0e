#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# make.sh [QEMU]: records the fixtures anew: tests/recordings/linux.jsonl.xz, and in linux.txt what the guest's tools
# printed meanwhile. Without QEMU the tree's own is built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dev=$here/../../dev
qemu=()
[[ $# == 0 ]] || qemu=(--qemu "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$dev" guest "${qemu[@]}" --icount --no-iommu --timeout 900 --script "$here/linux.sh" \
  --file "$here/../guest/linux_traffic.sh:/guest/linux_traffic.sh" --log "$scratch/kernel.log" \
  --device "mlx4,x-record=$scratch/linux.jsonl,x-record-label=Linux mlx4_core and mlx4_ib in QEMU" \
  | tee "$scratch/linux.txt"
grep -v '^\[' "$scratch/linux.txt" | sed 's/[[:space:]]*$//' >"$here/linux.txt"
ls -l "$scratch/linux.jsonl"
xz -9e -c "$scratch/linux.jsonl" >"$here/linux.jsonl.xz"
ls -l "$here/linux.jsonl.xz"
