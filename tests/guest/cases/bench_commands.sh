#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# RC queue pairs from nothing to RTS, one thread, by Linux's mlx4_ib and by our driver over VFIO, in
# one boot, on one adapter whose commands take a while. Each prints one line of JSON. `./dev bench
# commands` runs this with more of them. Where the clock counts instructions, so that nothing else
# on the host has a part in the figures.
# program: freehca_bench_commands_linux freehca_bench_commands_vfio
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --icount --device mlx4,max-commands=16
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
count=${QUEUE_PAIRS:-64}

# command_times ACCEPTANCE LATENCY: of a command, in nanoseconds.
command_times() {
  host set x-fault-command-acceptance "$1" && host set x-fault-command-latency "$2" || fail "the times of commands"
}

# measured COMMAND...: runs it on slow firmware, prints its line, and looks whether the firmware saw
# all the queue pairs.
measured() {
  for transition in RST2INIT_QP INIT2RTR_QP RTR2RTS_QP; do
    host get command_$transition >/run/before-$transition || fail "the model's counter $transition"
  done
  command_times "${ACCEPTANCE_NS:-1000}" "${LATENCY_NS:-50000}"
  "$@" || fail "$*: status $?"
  command_times 0 0
  for transition in RST2INIT_QP INIT2RTR_QP RTR2RTS_QP; do
    seen=$(($(host get command_$transition) - $(cat /run/before-$transition)))
    [ $seen = "$count" ] || fail "$*: $seen of $count $transition"
  done
}

log_mark
linux_up
measured freehca_bench_commands_linux "$count"
linux_down
hca=$(hca_address) || fail "no adapter"
bind_vfio "$hca" || fail "vfio-pci does not take the adapter"
measured freehca_bench_commands_vfio "$hca" --queue-pairs "$count"
log_clean || fail "the kernel's log"
no_complaints
