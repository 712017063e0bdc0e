#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Linux's own mlx4_core and mlx4_ib, unmodified, on the bare device: two active InfiniBand ports,
# RC, UD and SRQ traffic in loopback, and the drivers go again. With MSI-X, with INTx, and with
# small event and completion entries.
# program: write_and_read_back
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# again: device_server long --device-server
# again: polled long --device-server --device mlx4,doorbells=polled
# again: device_server_no_iommu long --device-server --no-iommu
# again: 6.12 long --kernel bookworm-backports/6.12
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

# round NAME EXPECTED [OPTIONS...]: EXPECTED is a line of the kernel's log that a card gives too, or
# empty.
round() {
  round_name=$1
  round_expected=$2
  shift 2
  say "$round_name"
  log_mark
  linux_up "$@"
  ibv_devinfo -v >/run/devinfo || fail "$round_name: ibv_devinfo"
  [ "$(grep -c 'state:.*PORT_ACTIVE' /run/devinfo)" = 2 ] || fail "$round_name: ibv_devinfo: $(cat /run/devinfo)"
  [ "$(grep -c 'link_layer:.*InfiniBand' /run/devinfo)" = 2 ] || fail "$round_name: $(cat /run/devinfo)"

  pair ibv_rc_pingpong -n 500
  pair ibv_rc_pingpong -e -i 2 -n 200
  pair ibv_ud_pingpong -n 500 -s 1024
  pair ibv_srq_pingpong -n 200
  pair ib_write_bw -d mlx4_0 -F -n 1000
  grep -q '65536 *1000' /run/client || fail "$round_name: ib_write_bw: $(cat /run/client)"
  write_and_read_back mlx4_0 50 || fail "$round_name: write_and_read_back"

  linux_down
  log_clean ${round_expected:+"$round_expected"} || fail "$round_name: the kernel's log"
  no_complaints
}

round "MSI-X" ""
cat /run/devinfo
round "INTx" "" msi_x=0
# mlx4_core says so at level warn whenever the user turns the option off on a card that has it
# (Linux 6.1 main.c mlx4_dev_cap).
round "32-byte entries" '64B EQEs/CQEs supported by the device but not enabled$' enable_64b_cqe_eqe=0
say "all done: $(host get commands) commands"
