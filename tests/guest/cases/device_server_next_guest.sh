#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# QEMU is killed while its guest has traffic, fifty times: the adapter's own process, always the
# same one, serves the next guest, in which Linux's driver finds the card in order.
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --device-server
# tier: long
# timeout: 3600
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

log_mark
linux_up
pair ibv_rc_pingpong -d mlx4_0 -g 0 -n 100
say "guest $HOST_BOOTS"
if [ "$HOST_BOOTS" -le 50 ]; then
  ib_write_bw -d mlx4_0 -F -D 60 >/run/server 2>&1 &
  sleep 0.5
  ib_write_bw -d mlx4_0 -F -D 60 localhost >/run/client 2>&1 &
  sleep "1.$((HOST_BOOTS % 10))"
  kill -0 $! || fail "the traffic has ended: $(cat /run/server /run/client)"
  host kill
  sleep 60
  fail "QEMU was not killed"
fi
linux_down
log_clean || fail "the kernel's log"
no_complaints
