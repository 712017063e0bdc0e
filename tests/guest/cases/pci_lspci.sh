#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What lspci prints of cards that are set up as four captured ones, field by field against the
# captures (tests/guest/pci/fields.txt); what differs is listed with its reason (differences.txt).
# Behind root ports, as cards are: of a device that is built into the chipset lspci leaves LnkCap2
# and LnkCtl2 out.
# options: --no-device --file tests/guest/pci:/guest/pci --file tests/guest/card/compare.awk:/guest/compare.awk
# options: -- -device pcie-root-port,id=slot1,chassis=1 -device mlx4,bus=slot1,class-code=0x020000
# options: -device pcie-root-port,id=slot2,chassis=2 -device mlx4,bus=slot2,variant=connectx3,class-code=0x020700
# options: -device pcie-root-port,id=slot3,chassis=3 -device mlx4,bus=slot3,variant=connectx3,ports=1,flr=off
# options: -device pcie-root-port,id=slot4,chassis=4 -device mlx4,bus=slot4,variant=connectx2,ports=1
# needs: qemu/qom/meson.build
. /usr/lib/guest/lib.sh
mkdir -p /etc/modprobe.d

# address NUMBER: of the card in that slot.
address() { lspci -D -d 15b3: | sed -n "$1s/ .*//p"; }

# shown NUMBER CARD OPTIONS...
shown() {
  shown_at=$(address "$1")
  shown_as=$2
  shift 2
  [ -n "$shown_at" ] || fail "no $shown_as" >&2
  lspci -s "$shown_at" "$@" >/run/tool || fail "lspci $*" >&2
  awk -v as="$shown_as lspci" -f /guest/pci/flatten.awk /run/tool
}

# enumerated NUMBER CARD: what the kernel says when it finds the card; sizes for addresses, which
# are the system's.
enumerated() {
  dmesg | sed -n "s/^\[[^]]*\] pci $(address "$1"): //p" | while IFS= read -r line; do
    case $line in
      '['*) echo "$2 kernel identity = ${line%%]*}]" && echo "$2 kernel class = ${line#*] }" ;;
      'BAR '*mem* | 'ROM '*mem*)
        range=${line#*mem }
        kind=${range#* }
        range=${range%% *}
        echo "$2 kernel ${line%% \[*} = $((${range#*-} + 1 - ${range%-*})) ${kind%]}"
        ;;
    esac
  done
}

echo 'install mlx4_ib /bin/true' >/etc/modprobe.d/no-ib.conf
echo 'install mlx4_en /bin/true' >/etc/modprobe.d/no-en.conf
log_mark
modprobe mlx4_core || fail "modprobe mlx4_core"
{
  shown 1 connectx3-pro -v
  shown 2 connectx3-cx354a -vvv -x
  shown 3 connectx3-cx353a -vvv
  shown 4 connectx2 -vvv
  enumerated 3 connectx3
  enumerated 4 connectx2-en
} >/run/shown
awk -f /guest/compare.awk /run/shown /guest/pci/fields.txt /guest/pci/differences.txt || fail "not as on real cards"

# No capture has more than lspci -v of a ConnectX-3 Pro: beyond that it is as the ConnectX-3, but
# for its names.
shown 1 card -vvv >/run/pro
shown 2 card -vvv >/run/three
grep -vxF -f /run/three /run/pro | sed 's/^card lspci //' >/run/others
names='IOMMU group|Physical Slot|class|device|\[48\] (Product Name|\[PN\].*|\[EC\].*|\[SN\].*|\[RW\] Read-write area)|\[148 v1\] .*'
if grep -vE "^($names) = " /run/others; then
  fail "not as the ConnectX-3"
fi
[ "$(wc -l </run/pro)" = "$(wc -l </run/three)" ] || fail "not as many fields as the ConnectX-3"
log_clean || fail "the kernel's log"
