# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: Linux's own driver and rdma-core's tools on the modelled adapter, in loopback. Put into the guest with
#   # options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh

# pair COMMAND...: server and client of a test program in this guest; fails, with both outputs, when one does.
pair() {
  "$@" >/run/server 2>&1 &
  pair_server=$!
  sleep 0.5
  # The server may need longer until it listens.
  pair_tries=20
  until "$@" 127.0.0.1 >/run/client 2>&1; do
    pair_tries=$((pair_tries - 1))
    if [ "$pair_tries" = 0 ] || ! kill -0 "$pair_server" 2>/dev/null || ! grep -qi "connect" /run/client; then
      kill "$pair_server" 2>/dev/null
      cat /run/server /run/client
      fail "$*"
    fi
    sleep 0.5
  done
  wait "$pair_server" || { cat /run/server; fail "the server of $*"; }
  say "$*: $(tail -n 1 /run/client)"
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
