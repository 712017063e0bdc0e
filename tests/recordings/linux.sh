#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What make.sh records: Linux's mlx4_core and mlx4_ib from nothing, both pingpongs, perftest, subnet
# management datagrams, IPoIB, and down again. It prints what the tools say of themselves: the test
# compares the recording with that.
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

# told NAME: the two sides' output of the last pair.
told() {
  for told_side in server client; do
    sed "s/^/$1 $told_side: /" /run/$told_side
  done
}

log_mark
linux_up
ibv_devinfo -v | sed 's/^/devinfo: /'
pair ibv_rc_pingpong -s 300 -n 5 -r 16
told rc_pingpong
pair ibv_ud_pingpong -s 200 -n 3 -r 16
told ud_pingpong
pair ib_write_bw -d mlx4_0 -F -s 700 -n 5
told write_bw
smpquery -P 1 -D nodeinfo 0 >/run/nodeinfo || fail "smpquery: $(cat /run/nodeinfo)"
sed 's/^/nodeinfo: /' /run/nodeinfo
modprobe ib_ipoib || fail "modprobe ib_ipoib"
ip link set ib0 up || fail "ib0 does not come up"
wait_for 20 ip -br link show dev ib0 up
linux_down
log_clean || fail "the kernel's log"
no_complaints
