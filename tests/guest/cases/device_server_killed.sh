#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The adapter's own process is killed under traffic, fifty times: the driver sees that its card is
# gone, and ends with the message and the exit code for that; a new process is plugged in and works.
# By our driver, since Linux's stops with a BUG when it finds a card gone (catas.c
# `mlx4_enter_error_state`).
# program: hcactl
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
# options: --device-server --device mlx4,bus=port1 -- -device pcie-root-port,id=port1,chassis=1
# tier: long
# timeout: 2400
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh

gone() { ! hca_address 2>/dev/null; }

# killed COMMAND...: the command, whose adapter's process is killed after a while that is another
# one in each round.
killed() {
  "$@" &
  killed_command=$!
  sleep "1.$((round % 10))"
  host server kill || return 1
  wait $killed_command
}

round=1
while [ $round -le 50 ]; do
  hca=$(hca_address) && bind_vfio "$hca" || fail "round $round: vfio-pci does not take the adapter"
  hcactl ping "$hca" --messages 20 >/run/output 2>&1 || fail "round $round: hcactl ping: $(cat /run/output)"
  refused 22 'gone or broken' killed hcactl ping "$hca" --messages 100000
  host server unplug || fail "round $round: unplug"
  wait_for 30 gone || fail "round $round: the dead adapter is still there: $(dmesg | tail -n 20)"
  host server start && host server plug || fail "round $round: plug"
  wait_for 30 hca_address || fail "round $round: no new adapter: $(dmesg | tail -n 20)"
  say "round $round"
  round=$((round + 1))
done
hca=$(hca_address) && bind_vfio "$hca" && works "fifty rounds"
