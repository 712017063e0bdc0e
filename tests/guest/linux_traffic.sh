# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: Linux's own driver and rdma-core's tools on the modelled adapter, in loopback. Put into
# the guest with
#   # options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh

# Both pingpongs and perftest exchange their addresses by this TCP port.
listening() { ss -Hltn 'sport = 18515' | grep -q .; }

# pair COMMAND...: the test program as server, and again, with localhost, as client. Its output is
# in /run/client. pair_side says which of them this host had: client, or (linux_two_hosts.sh)
# server.
# shellcheck disable=SC2034 # read by linux_perftest.sh
pair_side=client
pair() {
  "$@" >/run/server 2>&1 &
  pair_server=$!
  wait_for 30 listening || fail "$*: the server does not listen: $(cat /run/server)"
  if "$@" localhost >/run/client 2>&1 && wait "$pair_server"; then
    # perftest draws a line below its figures.
    say "$*: $(grep -v "^-*\$" /run/client | tail -n 1 | tr -s " ")"
  else
    cat /run/server /run/client
    fail "$*"
  fi
}

# ended_well STATUS FILE: true if a program whose output is FILE has succeeded. rping can end with
# an error after its last ping: its thread of events asks for one more event when the main thread
# has destroyed the event channel (rdma-core, pull request 1622). The text judges the pings.
ended_well() {
  [ "$1" = 0 ] || grep -qx "rdma_get_cm_event: Bad file descriptor" "$2"
}

port_active() { grep -q ACTIVE "/sys/class/infiniband/$1/ports/$2/state"; }

# linux_up [mlx4_core's options...]: loads the driver and waits for two active InfiniBand ports.
linux_up() {
  modprobe mlx4_core "$@" || fail "modprobe mlx4_core $*"
  modprobe mlx4_ib || fail "modprobe mlx4_ib"
  modprobe ib_uverbs && modprobe ib_umad || fail "the modules of the user's side"
  wait_for 10 [ -e /sys/class/infiniband/mlx4_0 ] || fail "no device mlx4_0"
  for linux_port in 1 2; do
    wait_for 20 port_active mlx4_0 "$linux_port" || { ibv_devinfo -v; fail "port $linux_port is not active"; }
  done
}

# port_becomes TYPE [SHOWN]: what mlx4_core makes of its port 1 by sysfs (ib, eth or auto), and what
# it shows then. The drivers of both kinds come back before the write ends.
port_becomes() {
  for port_type_path in /sys/bus/pci/drivers/mlx4_core/*/mlx4_port1; do
    echo "$1" >"$port_type_path" || fail "mlx4_port1: $1"
    [ "$(cat "$port_type_path")" = "${2:-$1}" ] || fail "mlx4_port1: $1, and it shows $(cat "$port_type_path")"
  done
}

# linux_down: unloads it all, leaf first.
linux_down() {
  for linux_module in rdma_ucm ib_umad ib_ipoib mlx4_ib mlx4_en mlx4_core; do
    [ ! -e "/sys/module/$linux_module" ] || modprobe -r "$linux_module" || fail "modprobe -r $linux_module"
  done
}

# no_complaints: the model had nothing to suffer silently.
no_complaints() {
  model_complaints=$(host get complaints) || fail "the complaint counter cannot be read"
  [ "$model_complaints" = 0 ] || fail "the model counted $model_complaints complaints"
}
