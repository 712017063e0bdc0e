#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What Linux's driver and the tools say of each variant, field by field against what real cards say
# (tests/guest/card/fields.txt); what differs is listed with its reason (differences.txt).
# options: --no-device --file tests/guest/card:/guest/card
# options: -- -device mlx4 -device mlx4,variant=connectx3 -device mlx4,variant=connectx2
# needs: qemu/qom/meson.build
# timeout: 200
. /usr/lib/guest/lib.sh

port_active() { grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"; }

# shown_as VARIANT TOOL: lines "field: value" and "field:....value" of standard input, as fields.txt has them.
shown_as() { sed -n "s/^[[:space:]#]*\([^:]*\):[.[:space:]]*\(.*[^[:space:]]\)[[:space:]]*\$/$1 $2 \1 = \2/p"; }

shown() {
  wait_for 30 port_active "$1" || fail "$1 has no active port"
  ibv_devinfo -v -d "$1" >/run/tool || fail "ibv_devinfo -d $1"
  # OFED prints the clock without its unit.
  sed 's/kHZ$//' /run/tool | shown_as "$2" devinfo
  flags=$(sed -n 's/^[[:space:]]*device_cap_flags:[[:space:]]*//p' /run/tool)
  for bit in $(seq 0 31); do echo "$2 devinfo device_cap_flags bit $bit = $((flags >> bit & 1))"; done
  ibstat "$1" >/run/tool || fail "ibstat $1"
  shown_as "$2" ibstat </run/tool
  ibportstate -C "$1" -P 1 2 1 query >/run/tool || fail "ibportstate -C $1"
  shown_as "$2" ibportstate </run/tool
  smpquery -C "$1" -P 1 nodeinfo 2 >/run/tool || fail "smpquery -C $1"
  shown_as "$2" nodeinfo </run/tool
  perfquery -C "$1" -P 1 2 1 >/run/tool || fail "perfquery -C $1"
  sed 's/.*(\(CapMask: 0x[0-9a-f]*\))/\1/' /run/tool | shown_as "$2" perfquery
  # The lines of one adapter: from its initialization on, and mlx4_ib's in the order of the adapters.
  dmesg | sed -n "s/.*Mellanox ConnectX \(core\|InfiniBand\) driver \(.*\)/$2 log \1 driver = \2/p"
  dmesg | sed -n "s/.*mlx4_core $3: DMFS high rate steer mode is: /$2 log DMFS high rate steer mode = /p"
  dmesg | sed -n 's/.*counter index \(.*\) for port 1 allocated.*/\1/p' | sed -n "$4s/^/$2 log counter index of port 1 = /p"
}

modprobe mlx4_core && modprobe mlx4_ib && modprobe ib_uverbs && modprobe ib_umad || fail "modprobe"
wait_for 30 [ -e /sys/class/infiniband/mlx4_2 ] || fail "not three devices"
number=0
for variant in connectx3-pro connectx3 connectx2; do
  device=mlx4_$number
  number=$((number + 1))
  shown $device $variant "$(basename "$(readlink -f /sys/class/infiniband/$device/device)")" $number
done >/run/shown
grep '^FAILED' /run/shown && exit 1
if awk -f /guest/card/compare.awk /guest/card/differences.txt /run/shown /guest/card/fields.txt; then
  say "as on real cards"
else
  fail "not as on real cards"
fi
