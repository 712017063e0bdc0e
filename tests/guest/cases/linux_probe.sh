#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Linux's mlx4_core alone: it probes the adapter and lets go of it, with a clean log.
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# The driver asks for mlx4_ib by itself: here it gets none.
mkdir -p /etc/modprobe.d
echo 'install mlx4_ib /bin/true' >/etc/modprobe.d/no-ib.conf
echo 'install mlx4_en /bin/true' >/etc/modprobe.d/no-en.conf
log_mark
modprobe mlx4_core || fail "modprobe mlx4_core"
[ "$(basename "$(readlink "/sys/bus/pci/devices/$(hca_address)/driver")")" = mlx4_core ] || fail "it is not bound"
modprobe -r mlx4_core || fail "modprobe -r mlx4_core"
log_clean || fail "the kernel's log is not clean"
no_complaints
