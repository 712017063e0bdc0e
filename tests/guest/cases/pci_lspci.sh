#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What lspci prints of the three variants has the lines that captures of real cards have (docs/hardware-pci.md).
# options: --no-device --file tests/guest/pci:/guest/pci
# options: -- -device mlx4 -device mlx4,variant=connectx3 -device mlx4,variant=connectx2
# needs: qemu/qom/meson.build
# timeout: 90
. /usr/lib/guest/lib.sh

# Blanks differ between releases of lspci: single ones on both sides.
shown() { lspci -d "$1" -vvv | tr -s ' \t' ' '; }

missing=0
check() {
  shown "$1" >/tmp/shown
  [ -s /tmp/shown ] || fail "no device $1"
  while IFS= read -r line; do
    case $line in
      'absent: '*) grep -qF -e "${line#absent: }" /tmp/shown || continue ;;
      *) grep -qF -e "$line" /tmp/shown && continue ;;
    esac
    echo "$2: $line"
    missing=$((missing + 1))
  done <"/guest/pci/$2.txt"
  [ "$missing" -eq 0 ] || cat /tmp/shown
}

check 15b3:1007 connectx3-pro
check 15b3:1003 connectx3
check 15b3:673c connectx2
[ "$missing" -eq 0 ] || fail "$missing lines are not as on a real card"
