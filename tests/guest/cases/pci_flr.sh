#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Function-level reset by the guest's kernel: offered only where the card has it, and Linux's driver
# comes up after it.
# options: --device mlx4,flr=on -- -device mlx4,flr=off,addr=9
. /usr/lib/guest/lib.sh
with=$(hca_address)
without=0000:00:09.0
grep -q flr "/sys/bus/pci/devices/$with/reset_method" || fail "flr=on: the kernel sees no function-level reset"
! grep -q flr "/sys/bus/pci/devices/$without/reset_method" || fail "flr=off: the kernel sees a function-level reset"

# mlx4_core wants its ports' drivers; here it comes alone.
mkdir -p /etc/modprobe.d
printf 'install mlx4_ib /bin/true\ninstall mlx4_en /bin/true\n' >/etc/modprobe.d/alone.conf
log_mark
echo flr >"/sys/bus/pci/devices/$with/reset_method"
echo 1 >"/sys/bus/pci/devices/$with/reset" || fail "reset"
modprobe mlx4_core || fail "modprobe mlx4_core"
[ -e "/sys/bus/pci/devices/$with/driver" ] || fail "mlx4_core is not bound after the reset"
[ -e "/sys/bus/pci/devices/$without/driver" ] || fail "mlx4_core is not bound to the second card"
modprobe -r mlx4_core
echo 1 >"/sys/bus/pci/devices/$with/reset" || fail "reset after the driver"
log_clean || fail "the kernel's log is not clean"
[ "$(host get complaints)" = 0 ] || fail "complaints"
