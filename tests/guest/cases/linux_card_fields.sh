#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What Linux's driver and the tools say of each variant, field by field against what real cards say
# (tests/guest/card/fields.txt); what differs, what only cards say and what only the model says is
# listed with its reason (differences.txt). All tools run on all variants, whether there is a
# capture or not; the captures have second ports without a cable.
# options: --no-device --file tests/guest/card:/guest/card
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: -- -netdev hubport,id=loose0,hubid=0 -netdev hubport,id=loose1,hubid=1
# options: -device mlx4,id=hca0,netdev2=loose0 -device mlx4,id=hca1,variant=connectx3,netdev2=loose1
# options: -device mlx4,id=hca2,variant=connectx2,ports=1
# needs: qemu/qom/meson.build
# again: 6.12 long --kernel bookworm-backports/6.12
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

# tool CARD TOOL COMMAND...: its output is in /run/tool, and shown.
tool() {
  tool_as="$1 $2"
  shift 2
  "$@" >/run/tool || fail "$*" >&2
  awk -v as="$tool_as" -f /guest/card/flatten.awk /run/tool
}

# guid FILE: a GUID of the kernel's as a number.
guid() { echo $((0x$(tr -d : <"$1"))); }

shown() {
  tool "$2" devinfo ibv_devinfo -v -d "$1"
  flags=$(sed -n 's/^[[:space:]]*device_cap_flags:[[:space:]]*//p' /run/tool)
  for bit in $(seq 0 31); do echo "$2 devinfo device_cap_flags bit $bit = $((flags >> bit & 1))"; done
  tool "$2" ibstat ibstat "$1"
  node=$(guid "/sys/class/infiniband/$1/node_guid")
  above="$(($(guid "/sys/class/infiniband/$1/sys_image_guid") - node))"
  names="system image"
  for port in /sys/class/infiniband/"$1"/ports/*; do
    gid=$(tr -d : <"$port/gids/0")
    above="$above $((0x${gid#????????????????} - node))"
    names="$names, port $(basename "$port")"
  done
  echo "$2 ibstat GUIDs from the node's: $names = $above"
  tool "$2" ibportstate ibportstate -C "$1" -P 1 2 1 query
  tool "$2" nodeinfo smpquery -C "$1" -P 1 nodeinfo 2
  tool "$2" nodedesc smpquery -C "$1" -P 1 nodedesc 2
  tool "$2" portinfo smpquery -C "$1" -P 1 portinfo 2 1
  tool "$2" perfquery perfquery -C "$1" -P 1 2 1
}

# logged NUMBER CARD ADDRESS: the driver's lines of one adapter; mlx4_ib's come in the order of the
# adapters. A line that has no name here is shown whole, so that it stands in a list.
logged() {
  dmesg | sed -n 's/^\[[^]]*\] \(.*mlx4.*\|.*renamed from.*\)/\1/p' >/run/log
  sed -n "s/^mlx4_core $3: //p; s/^mlx4_core: Initializing $3/Initializing = $3/p; s/^mlx4_core: Mellanox/Mellanox/p
    s/.*mlx4_ib: Mellanox/Mellanox/p" /run/log >/run/mine
  for port in 1 2; do
    sed -n "s/.*counter index \(.*\) for port $port allocated.*/counter index of port $port = \1/p" /run/log | sed -n "$1p"
  done >>/run/mine
  sed "s/^Mellanox ConnectX \(core\|InfiniBand\) driver \(.*\)/\1 driver = \2/
    s/^DMFS high rate steer mode is: /DMFS high rate steer mode = /
    s/^enabling device /enabling device = /
    s/\(.*\) available PCIe bandwidth (\(.*\))/PCIe bandwidth, available = \1\nPCIe bandwidth, capable of = \1 with \2/
    s/\(.*\) renamed from \(.*\)/renamed from \2 = \1/" /run/mine | sed "/ = /!s/\$/ = (said)/; s/^/$2 log /"
}

log_mark
modprobe mlx4_core && modprobe mlx4_ib && modprobe ib_uverbs && modprobe ib_umad || fail "modprobe"
# It stands behind a bit of the ports' capability masks.
modprobe ib_cm || fail "modprobe ib_cm"
wait_for 30 [ -e /sys/class/infiniband/mlx4_2 ] || fail "not three devices"
for device in mlx4_0 mlx4_1 mlx4_2; do
  wait_for 30 port_active $device 1 || fail "$device has no active port"
done
number=0
for card in connectx3-pro connectx3 connectx2; do
  device=mlx4_$number
  number=$((number + 1))
  shown $device $card
  logged $number $card "$(basename "$(readlink -f /sys/class/infiniband/$device/device)")"
done >/run/shown

modprobe ib_ipoib || fail "modprobe ib_ipoib"
interfaces=/sys/class/infiniband/mlx4_1/device/net
two_interfaces() { [ "$(cat "$interfaces"/*/dev_port | wc -l)" = 2 ]; }
wait_for 10 two_interfaces || fail "no interfaces of IPoIB"
for interface in "$interfaces"/*; do
  qpn=$(tr -d : <"$interface/address" | cut -c3-8)
  echo "connectx3 ipoib first queue pair of port $(($(cat "$interface/dev_port") + 1)) = 0x$(printf %x "0x$qpn")"
done >>/run/shown

# Last, since it ends the port: a card does not come back either.
ibportstate -C mlx4_1 -P 1 2 1 width 1 >/run/tool || fail "ibportstate width: $(cat /run/tool)"
{
  tool connectx3 ibportstate-disable ibportstate -C mlx4_1 -P 1 2 1 disable
  wait_for 10 grep -q DOWN /sys/class/infiniband/mlx4_1/ports/1/state || fail "the port is not disabled" >&2
  tool connectx3 ibstat-disabled ibstat mlx4_1
} >>/run/shown

# Where no capture of a ConnectX-3 Pro exists it is as the ConnectX-3, but for its names and
# firmware.
as_three() { sed -n "s/^$1 \(devinfo\|ibstat\|ibportstate\|nodeinfo\|portinfo\|perfquery\) /\1 /p" /run/shown; }
as_three connectx3 >/run/three
as_three connectx3-pro >/run/pro
names='devinfo (node_guid|sys_image_guid|fw_ver|vendor_part_id|hw_ver)|devinfo (port 2 )?GID.*'
names="$names|ibstat (CA type|Firmware version|Hardware version|.*GUID)|nodeinfo (.*Guid|DevId|Revision)"
names="$names|perfquery Port(Xmit|Rcv)(Data|Pkts)"
if grep -vxF -f /run/three /run/pro | grep -vE "^($names) = "; then
  fail "the ConnectX-3 Pro is not as the ConnectX-3"
fi
[ "$(wc -l </run/pro)" = "$(wc -l </run/three)" ] || fail "not as many fields as the ConnectX-3"

awk -f /guest/card/compare.awk /run/shown /guest/card/fields.txt /guest/card/differences.txt || fail "not as on real cards"
linux_down
modprobe -r ib_cm || fail "modprobe -r ib_cm"
log_clean || fail "the kernel's log"
for id in hca0 hca1 hca2; do
  complaints=$(host get complaints $id) || fail "the complaint counter cannot be read"
  [ "$complaints" = 0 ] || fail "the model counted $complaints complaints of $id"
done
say "as on real cards"
