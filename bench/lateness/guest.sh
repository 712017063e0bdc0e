#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# How late a timer of the guest is while another process has the adapter do what costs it most.
# SECONDS_EACH for each. The guest's clock is QEMU's: it runs with the host's. The guest has one
# processor, so that a host of two has room for it and for the adapter: with more threads than
# processors the host's scheduler adds milliseconds of its own.
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

# late NAME: how late the timer is now.
late() {
  late_figures=$(freehca_bench_timer_lateness "${SECONDS_EACH:-10}") || fail "timer_lateness"
  # shellcheck disable=SC2086 # three words
  set -- "$1" $late_figures
  printf 'lateness, %-44s median %6d us, p99 %6d us, greatest %6d us\n' "$1:" "$2" "$3" "$4"
}

# late_while NAME COMMAND...: the same while both ends of the test program run for long enough.
late_while() {
  late_name=$1
  shift
  "$@" -D $((${SECONDS_EACH:-10} + 20)) >/run/server 2>&1 &
  late_server=$!
  wait_for 30 listening || fail "$*: the server does not listen: $(cat /run/server)"
  "$@" -D $((${SECONDS_EACH:-10} + 20)) localhost >/run/client 2>&1 &
  late_client=$!
  wait_for 30 moving || fail "$*: nothing moves: $(cat /run/client)"
  late "$late_name"
  kill -0 "$late_client" 2>/dev/null || fail "$*: it ended before the timer: $(cat /run/client)"
  kill "$late_client" "$late_server" 2>/dev/null
  wait "$late_client" "$late_server" 2>/dev/null
  sleep 1
}

# moving: the model's packets grow.
moving() {
  moving_before=$(host get counter-transport_packets_sent) || return 1
  sleep 1
  [ "$(host get counter-transport_packets_sent)" -gt $((moving_before + 100)) ]
}

linux_up
late idle
late_while "RDMA writes of 1 MiB, 16 queue pairs" ib_write_bw -d mlx4_0 -F -m 4096 -s 1048576 -q 16
late_while "RDMA reads of 1 MiB, 16 queue pairs" ib_read_bw -d mlx4_0 -F -m 4096 -s 1048576 -q 16
late_while "datagrams of 2 KiB, 32 queue pairs" ib_send_bw -d mlx4_0 -F -c UD -s 2048 -q 32
late_while "datagrams of 2 KiB to a group" ib_send_bw -d mlx4_0 -F -c UD -s 2048 -g
late idle
echo "work at once, at most: $(host get counter-work_units_at_once) units; turns cut: $(host get counter-turns_cut)"
linux_down
