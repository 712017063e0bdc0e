#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Behind a root port: Linux's driver comes up; the adapter is unplugged and plugged again under it.
# options: --no-device -- -device pcie-root-port,id=port1,chassis=1 -device mlx4,bus=port1,id=hca0
# needs: qemu/qom/meson.build
. /usr/lib/guest/lib.sh
mkdir -p /etc/modprobe.d
printf 'install mlx4_ib /bin/true\ninstall mlx4_en /bin/true\n' >/etc/modprobe.d/alone.conf

bound() { [ "$(basename "$(readlink "/sys/bus/pci/devices/$(hca_address)/driver")")" = mlx4_core ]; }
gone() { ! hca_address; }

log_mark
modprobe mlx4_core || fail "modprobe mlx4_core"
for round in 1 2 3; do
  wait_for 20 bound || fail "round $round: mlx4_core is not bound"
  [ "$(host get complaints)" = 0 ] || fail "round $round: complaints"
  host qmp '{"execute": "device_del", "arguments": {"id": "hca0"}}' || fail "device_del"
  wait_for 20 gone || fail "round $round: the adapter is still there"
  sleep 1
  host qmp '{"execute": "device_add", "arguments": {"driver": "mlx4", "id": "hca0", "bus": "port1"}}' ||
    fail "round $round: device_add"
done
wait_for 20 bound || fail "mlx4_core is not bound at the end"
log_clean || fail "the kernel's log is not clean"
