#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# A technician's tools, firmware's and the fabric's, on the three variants under Linux's own driver:
# what each says of an adapter is compared with what the others, the driver and configuration space
# say of it. mstflint 4.21 does not know a ConnectX-2.
# options: --no-device --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: -- -device mlx4,id=hca0 -device mlx4,id=hca1,variant=connectx3 -device mlx4,id=hca2,variant=connectx2
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

# run COMMAND...: its output is in /run/out; fails when it does.
run() {
  ran="$*"
  "$@" >/run/out 2>&1 || fail "$ran: $(cat /run/out)"
}
# refused COMMAND...: it has to fail; what it says is in /run/out.
refused() {
  ran="$*"
  ! "$@" >/run/out 2>&1 || fail "$ran: is not refused: $(cat /run/out)"
}
# field NAME: what stands behind "NAME:" in /run/out, or behind "NAME...." as libibmad prints.
field() { sed -n "s/^[[:space:]]*$1[:.][:. ]*[[:space:]]*//p" /run/out | sed 's/[[:space:]]*$//' | head -n 1; }
# is NAME VALUE: the field has that value.
is() { [ "$(field "$1")" = "$2" ] || fail "$ran: $1 is '$(field "$1")', not '$2': $(cat /run/out)"; }
has() { grep -qE "$1" /run/out || fail "$ran: no '$1': $(cat /run/out)"; }

sys() { cat "/sys/class/infiniband/$device/$1"; }
guid() { tr -d : <"/sys/class/infiniband/$device/$1"; }

# image: the fields of mstflint's query in /run/out are those of the adapter.
image() {
  is "Image type" FS2
  is "FW Version" "$version"
  is "Device ID" "$number"
  is PSID "$(sys board_id)"
  node=$(guid node_guid)
  low=$(printf %d "0x$node")
  # Node, port 1, port 2 and system image follow each other; the MACs are the low parts of the
  # ports' GUIDs. (captures)
  [ "$(guid sys_image_guid)" = "$(printf %016x $((low + 3)))" ] || fail "$device: system image GUID"
  has "^GUIDs: +$node $(printf %016x $((low + 1))) $(printf %016x $((low + 2))) $(guid sys_image_guid)"
  vendor_part=$((low >> 40))
  has "^MACs: +$(printf %06x%06x "$vendor_part" $(((low + 1) & 0xffffff))) +$(printf %06x%06x "$vendor_part" $(((low + 2) & 0xffffff)))"
  ! grep -q "Rom Info" /run/out || fail "$ran: an expansion ROM, which configuration space does not have"
}

# firmware_tools NUMBER HARDWARE: of a device whose PCI identifier is NUMBER.
firmware_tools() {
  number=$1
  hardware=$2
  run mstflint -d "$address" q
  image
  cat /run/out
  run mstflint -d "$address" q full
  image
  is "FW Version" "$version"
  run mstflint -d "$address" v
  has "FW image verification succeeded. Image is bootable."
  [ "$(grep -c -- "- OK$" /run/out)" = 3 ] || fail "$ran: not three sections: $(cat /run/out)"
  run mstflint -d "$address" ri /run/image
  run mstflint -i /run/image q
  image
  run mstflint -i /run/image v
  # What runs is told apart from what is in the flash (captures): it is the same.
  run mstmcra "$address" 0x1f064.16:16
  has "^$(printf 0x%08x "${version%%.*}")\$"

  run mstmcra "$address" 0xf0014
  has "^$hardware\$"
  # The table of MSI-X by configuration space, which tools use while a driver has BAR 0: the first
  # vector has an address below 4 GiB, since the driver runs, in the bytes' order of BAR 0.
  run mstmcra "/sys/bus/pci/devices/$address/config" 0x7c000
  has "^0x[0-9a-f]{6}fe\$"
  run mstmcra "/sys/bus/pci/devices/$address/config" 0x7c004
  has "^0x00000000\$"
  run mstregdump "$address"
  has "^0x000f0014 $hardware\$"

  run mstvpd "$address"
  lspci -vv -s "$address" >/run/lspci
  for keyword in PN EC SN; do
    value=$(sed -n "s/^.*\[$keyword\].*: //p" /run/lspci | sed 's/ *$//')
    [ -n "$value" ] || fail "lspci: no $keyword"
    is "$keyword" "$value"
  done

  # The firmware that is modelled has no configuration that tools could read, and says so.
  refused mstconfig -d "$address" q
  has "Unsupported FW"
}

fabric_tools() {
  lid=$(printf %d "$(sys ports/1/lid)")
  run vendstat -C "$device" -P 1 -N "$lid"
  # Of a ConnectX-2 the tool reads the version's short form, whose last part has one byte
  # (infiniband-diags vendstat.c, ext_fw_info_device).
  short=$(echo "$version" | awk -F. -v device="$device" '
    device == "mlx4_2" { $3 %= 256 }
    { printf "%02d\\.%02d\\.%02d", $1, $2, $3 }')
  has "^fw_version: +$short\$"
  has "^fw_psid: +'$(sys board_id)'\$"
  has "^hw_dev_id: +$(cat "/sys/bus/pci/devices/$address/device")\$"
  run perfquery -C "$device" -P 1 -c "$lid" 1
  is PortSelect 1
  is CounterWidth 4
  is SampleStatus 0
  run smpquery -C "$device" -P 1 -D portinfo 0 2
  is LinkState Active
  is Lid "$(printf %d "$(sys ports/2/lid)")"
  is LocalPort 1
  run saquery -C "$device" -P 1 -x
  manager=$(printf %d "$(sys ports/1/sm_lid)")
  awk '/FromLID|ToLID/ { sub(/.*\./, ""); print }' /run/out | tr '\n' ' ' >/run/links
  [ "$(cat /run/links)" = "$manager $lid $lid $manager " ] || fail "$ran: $(cat /run/out)"
}

mkdir -p /tmp
log_mark
linux_up
for device in mlx4_1 mlx4_2; do
  for port in 1 2; do
    wait_for 30 port_active $device $port || fail "$device has no active port $port"
  done
done
number=0
for device in mlx4_0 mlx4_1 mlx4_2; do
  say $device
  address=$(basename "$(readlink -f /sys/class/infiniband/$device/device)")
  version=$(sys fw_ver)
  case $device in
    mlx4_0) firmware_tools 4103 0x000001f7 ;;
    mlx4_1) firmware_tools 4099 0x000101f5 ;;
    mlx4_2) refused mstflint -d "$address" q ;;
  esac
  fabric_tools
done

# Counters of errors by port, which a ConnectX-2 does not have.
for link in mlx4_0/1 mlx4_0/2 mlx4_1/1; do
  run rdma statistic show link $link
  has "^link $link .*rq_num_lle 0 .*sq_num_to 0"
done

say "cables"
physical() { grep -q "$1" "/sys/class/infiniband/mlx4_0/ports/1/$2"; }
host set cable1 false || fail "cable1=off"
wait_for 10 physical DOWN state || fail "the cable was pulled, and the port is not down"
port_active mlx4_0 2 || fail "the other port is not active"
host set cable1 true || fail "cable1=on"
wait_for 20 port_active mlx4_0 1 || fail "the cable is back, and the port is not active"

linux_down
log_clean || fail "the kernel's log"
for id in hca0 hca1 hca2; do
  complaints=$(host get complaints $id) || fail "the complaint counter cannot be read"
  [ "$complaints" = 0 ] || fail "the model counted $complaints complaints of $id"
done
say "the tools agree"
