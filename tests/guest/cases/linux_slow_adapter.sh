#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# An adapter that takes its time, each time another: Linux's driver comes up, moves data and goes,
# and has nothing to say.
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# again: device_server long --device-server
# again: device_server_no_iommu long --device-server --no-iommu
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

# The driver waits a second for a reset.
host set x-fault-time-seed 11 && host set x-fault-reset-latency 900000000 &&
  host set x-fault-command-latency 2000000 && host set x-fault-work-latency 2000000 || fail "the times"
log_mark
linux_up
pair ibv_rc_pingpong -d mlx4_0 -g 0 -n 100
pair ibv_ud_pingpong -d mlx4_0 -g 0 -n 100
linux_down
log_clean || fail "the kernel's log"
no_complaints
