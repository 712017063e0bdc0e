#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The adapter has an internal error under Linux's driver: it notices, resets the adapter, brings it
# up again, and traffic passes as before.
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# again: device_server long --device-server
# again: device_server_no_iommu long --device-server --no-iommu
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

kernel_said() { dmesg | grep -q "$1"; }

log_mark
linux_up
log_clean || fail "the kernel's log before the internal error"
no_complaints
# From here to the end of the recovery the driver tells of it at level err and warn: no check of the
# log.
host set x-fault-catastrophic true || fail "the internal error cannot be raised"
# The driver looks at the error buffer every five seconds.
wait_for 20 kernel_said "Internal error detected" || fail "mlx4_core does not notice"
dmesg | grep -q 'buf\[00\]: 0fffffff' || fail "the kernel did not read the error buffer: $(dmesg | tail -n 20)"
wait_for 20 kernel_said "mlx4_restart_one was ended, ret=0" || fail "no recovery: $(dmesg | tail -n 20)"
[ "$(host get x-fault-catastrophic)" = false ] || fail "the adapter still has its internal error"
for port in 1 2; do
  wait_for 30 port_active mlx4_0 $port || fail "port $port is not active again: $(dmesg | tail -n 20)"
done
# Until then the driver may have rung doorbells of queues that its reset had ended; no more from
# here on.
complaints=$(host get complaints) || fail "the complaint counter cannot be read"
log_mark
pair ibv_rc_pingpong -d mlx4_0 -g 0 -n 100
linux_down
log_clean || fail "the kernel's log after the recovery"
[ "$(host get complaints)" = "$complaints" ] || fail "the model complained of the driver after its recovery"
