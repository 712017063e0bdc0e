# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: Debian's programs in two guests. Host 1 runs them on our driver over VFIO, host 2 on a
# driver of Linux. Programs of libibverbs have their TCP on the network of --lan. Needs
# linux_traffic.sh. Put into the guest with
#   # options: --file tests/guest/peers_over_vfio.sh:/guest/peers_over_vfio.sh
peers="our driver on host 1, Linux's on host 2"
# The device of host 2, and the number of this host's GID.
peer_device=mlx4_0
gid=0
rows=0
failed_rows=0

is_lan_card() { lan_interface=$(grep -l "^52:54:00:00:08:0$HOST_INDEX\$" /sys/class/net/*/address); }

# lan_up: this host has 10.0.2.HOST_INDEX on the network of --lan.
lan_up() {
  modprobe virtio_pci && modprobe virtio_net || fail "modprobe virtio_net"
  wait_for 20 is_lan_card || fail "no card of --lan: $(ip link)"
  is_lan_card
  lan_interface=$(basename "$(dirname "$lan_interface")")
  ip addr add "10.0.2.$HOST_INDEX/24" dev "$lan_interface" &&
    ip link set "$lan_interface" up || fail "10.0.2.$HOST_INDEX"
}

# vfio_up: host 1's adapter is for freehca-run.
vfio_up() {
  ours=$(hca_address) || fail "no adapter"
  bind_vfio "$ours" || fail "vfio-pci does not take $ours"
}

# here COMMAND [OPTION...]: on this host's driver.
here() {
  here_command=$1
  shift
  if [ "$HOST_INDEX" = 1 ]; then
    # shellcheck disable=SC2086 # words
    exec timeout -k 5 "$row_seconds" freehca-run --device "vfio:$ours" -- "$here_command" "$@"
  else
    exec timeout -k 5 "$row_seconds" "$here_command" -d "$peer_device" "$@"
  fi
}
# Less than the other host waits (tests/guest/control.py).
row_seconds=115

# server_waits: it listens, or it has ended.
server_waits() { listening || ! kill -0 "$row_pid"; }

# What the program of a row has said.
last_words() { tail -n 12 /run/errors && tail -n 6 /run/output; }

# row SERVER COMMAND...: the command as server on that host, and as client on the other one. Both
# have to end well. The word GID stands for the number of the host's GID. A row that fails is
# reported, and the next one follows; rows_done ends the case.
row() {
  row_server=$1
  row_name="host $1 serves, $2"
  shift
  row_command=$1
  shift
  row_words=
  for row_word in "$@"; do
    row_name="$row_name $row_word"
    [ "$row_word" != GID ] || row_word=$gid
    row_words="$row_words $row_word"
  done
  # shellcheck disable=SC2086 # words
  if [ "$HOST_INDEX" = "$row_server" ]; then
    (here "$row_command" $row_words) >/run/output 2>/run/errors &
    row_pid=$!
    wait_for "$row_seconds" server_waits
    host sync "$row_name"
    wait $row_pid
    row_status=$?
  else
    host sync "$row_name"
    (here "$row_command" $row_words "10.0.2.$row_server") >/run/output 2>/run/errors
    row_status=$?
  fi
  rows=$((rows + 1))
  if [ $row_status != 0 ]; then
    failed_rows=$((failed_rows + 1))
    say "FAILED with status $row_status: $row_name: $(last_words)"
  elif [ "$HOST_INDEX" != "$row_server" ]; then
    # perftest draws a line below its figures.
    say "$row_name: $(grep -v "^-*\$" /run/output | tail -n 1 | tr -s " ")"
  fi
  host sync "$row_name: done"
}

# both_ways COMMAND...: each host as the server.
both_ways() {
  row 1 "$@"
  row 2 "$@"
}

# every_row: the lines of the standard input are rows, for both directions. ONLY (--env) is a
# pattern of the rows that are wanted.
every_row() {
  while read -r every_line; do
    # shellcheck disable=SC2086,SC2254 # words, and a pattern
    case $every_line in *${ONLY:-}*) both_ways $every_line </dev/null ;; esac
  done
}

rows_done() {
  host sync "rows"
  say "$rows rows: $peers, $failed_rows failed"
  [ $failed_rows = 0 ] || fail "$failed_rows of $rows rows"
}
