#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The adapter's process is killed under traffic, fifty times: its guest goes on, with the same QEMU.
# Linux's driver finds an internal error, resets the adapter, which is in another process by then,
# and traffic passes as before.
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --device-server --device mlx4,restarts=on
# tier: long
# timeout: 3000
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

: "${KILLS:=50}"
recovered() { dmesg | grep -q "mlx4_restart_one was ended, ret=0"; }

log_mark
linux_up
log_clean || fail "the kernel's log before the first kill"
no_complaints
killed=0
while [ "$killed" -lt "$KILLS" ]; do
  ib_write_bw -d mlx4_0 -F -D 300 >/run/server 2>&1 &
  writers=$!
  wait_for 30 listening || fail "ib_write_bw does not listen: $(cat /run/server)"
  ib_write_bw -d mlx4_0 -F -D 300 localhost >/run/client 2>&1 &
  writers="$writers $!"
  sleep "1.$((killed % 10))$((killed / 10))"
  # shellcheck disable=SC2086 # two numbers
  kill -0 $writers || fail "the traffic has ended: $(cat /run/server /run/client)"
  # What the driver tells of the error and of its recovery is at level err and warn.
  dmesg -C
  host adapter kill || fail "the adapter's process cannot be killed"
  wait_for 40 recovered || fail "no recovery: $(dmesg | tail -n 20)"
  # shellcheck disable=SC2086 # two numbers; they may have ended by themselves
  kill -9 $writers 2>/run/ignored
  # shellcheck disable=SC2086 # the same
  wait $writers 2>/run/ignored
  for port in 1 2; do
    wait_for 30 port_active mlx4_0 $port ||
      fail "port $port is not active again: $(dmesg | tail -n 20)"
  done
  complaints=$(host get complaints) || fail "the complaint counter cannot be read"
  dmesg -C
  log_mark
  pair ibv_rc_pingpong -d mlx4_0 -g 0 -n 100
  log_clean || fail "the kernel's log after the recovery"
  # Until its reset the driver may have rung doorbells of queues that the new process does not know.
  [ "$(host get complaints)" = "$complaints" ] ||
    fail "the model complained of the driver after its recovery"
  killed=$((killed + 1))
done
say "killed $killed times"
linux_down
