#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# make.sh [NAME...]: records the fixtures anew, or those that are named: linux, ipxe_bookworm,
# ipxe_trixie. Each is NAME.jsonl.xz, and NAME.txt with what the tools of the machine printed
# meanwhile.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
FREEHCA_ROOT=$(cd "$here/../.." && pwd)
export FREEHCA_ROOT
names=("$@")
[[ ${#names[@]} -gt 0 ]] || names=(linux ipxe_bookworm ipxe_trixie)
qemu=$("$FREEHCA_ROOT/dev" qemu | tail -n 1)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

linux() {
  "$FREEHCA_ROOT/dev" guest --qemu "$qemu" --icount --no-iommu --timeout 900 --script "$here/linux.sh" \
    --file "$here/../guest/linux_traffic.sh:/guest/linux_traffic.sh" --log "$scratch/kernel.log" \
    --device "mlx4,x-record=$1,x-record-label=Linux mlx4_core and mlx4_ib in QEMU"
}
# iPXE of 2019 has a driver for ConnectX-2 alone.
ipxe_bookworm() { ipxe bookworm connectx2 "$1"; }
ipxe_trixie() { ipxe trixie connectx3-pro "$1"; }
ipxe() { "$here/ipxe.py" "$qemu" "$("$here/../qom/ipxe_image.sh" "$1" | tail -n 1)" "$2" "$3"; }

for name in "${names[@]}"; do
  case $name in
    linux | ipxe_bookworm | ipxe_trixie) ;;
    *) echo "make.sh: no fixture '$name'" >&2; exit 2 ;;
  esac
  "$name" "$scratch/$name.jsonl" >"$scratch/$name.txt"
  sed 's/[[:space:]]*$//' "$scratch/$name.txt" >"$here/$name.txt"
  xz -9e -c "$scratch/$name.jsonl" >"$here/$name.jsonl.xz"
  ls -l "$scratch/$name.jsonl" "$here/$name.jsonl.xz"
done
