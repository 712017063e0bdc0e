#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Linux's own mlx4_core and mlx4_ib, unmodified, on the bare device: two active InfiniBand ports, RC, UD and SRQ
# traffic in loopback, and the drivers go again. With MSI-X, with INTx, and with small event and completion entries.
# timeout: 400
. /usr/lib/guest/lib.sh

# The files of a port that has reached the state wanted of it.
active() { grep -q ACTIVE "/sys/class/infiniband/mlx4_0/ports/$1/state"; }

# Both pingpongs and perftest exchange their addresses by this TCP port.
listening() { ss -Hltn 'sport = 18515' | grep -q .; }

# pair NAME COMMAND...: the command as server, and again, with localhost, as client.
pair() {
  pair_name=$1
  shift
  "$@" >/run/server 2>&1 &
  pair_server=$!
  wait_for 30 listening || fail "$pair_name: the server does not listen: $(cat /run/server)"
  if "$@" localhost >/run/client 2>&1 && wait "$pair_server"; then
    say "$pair_name: $(tail -n 1 /run/client)"
  else
    cat /run/server /run/client
    fail "$pair_name"
  fi
}

round() {
  round_name=$1
  shift
  say "$round_name"
  log_mark
  modprobe mlx4_core "$@" || fail "$round_name: modprobe mlx4_core"
  modprobe mlx4_ib || fail "$round_name: modprobe mlx4_ib"
  modprobe ib_uverbs && modprobe ib_umad || fail "$round_name: modprobe ib_uverbs ib_umad"
  for port in 1 2; do
    wait_for 20 active $port || fail "$round_name: port $port is $(cat /sys/class/infiniband/mlx4_0/ports/$port/state)"
  done
  ibv_devinfo -v >/run/devinfo || fail "$round_name: ibv_devinfo"
  [ "$(grep -c 'state:.*PORT_ACTIVE' /run/devinfo)" = 2 ] || fail "$round_name: ibv_devinfo: $(cat /run/devinfo)"
  [ "$(grep -c 'link_layer:.*InfiniBand' /run/devinfo)" = 2 ] || fail "$round_name: $(cat /run/devinfo)"

  pair "ibv_rc_pingpong" ibv_rc_pingpong -n 500
  pair "ibv_rc_pingpong, events, port 2" ibv_rc_pingpong -e -i 2 -n 200
  pair "ibv_ud_pingpong" ibv_ud_pingpong -n 500 -s 1024
  pair "ibv_srq_pingpong" ibv_srq_pingpong -n 200
  pair "ib_write_bw" ib_write_bw -d mlx4_0 -F -n 1000
  grep -q '65536 *1000' /run/client || fail "$round_name: ib_write_bw: $(cat /run/client)"

  modprobe -r mlx4_ib || fail "$round_name: modprobe -r mlx4_ib"
  # What mlx4_ib pulled in stays; the core module is what must go.
  [ ! -d /sys/module/mlx4_core ] || rmmod mlx4_core || fail "$round_name: rmmod mlx4_core"
  log_clean || fail "$round_name: the kernel's log"
  [ "$(host get complaints)" = 0 ] || fail "$round_name: the model has $(host get complaints) complaints"
}

round "MSI-X"
cat /run/devinfo
round "INTx" msi_x=0
round "32-byte entries" enable_64b_cqe_eqe=0
say "all done: $(host get commands) commands"
