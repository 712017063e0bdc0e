# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: programs that work without a pause while the guest is moved to another QEMU process.
# Needs linux_traffic.sh and linux_ipoib.sh. Put into the guest with
#   # options: --file tests/guest/linux_moves.sh:/guest/linux_moves.sh
target=/sys/kernel/config/nvmet
nvme_name=freehca

# load NAME COMMAND...: runs the command again and again, until loads_end. Each round is counted.
# A round that fails ends the load.
loads=
load() {
  load_name=$1
  shift
  loads="$loads $load_name"
  echo 0 >"/run/rounds-$load_name"
  (
    rounds=0
    until [ -e /run/loads-end ]; do
      "$@" || { touch "/run/failed-$load_name"; break; }
      rounds=$((rounds + 1))
      echo $rounds >"/run/rounds-$load_name"
    done
  ) >"/run/load-$load_name" 2>&1 &
}

loads_pass() {
  for pass_name in $loads; do
    [ ! -e "/run/failed-$pass_name" ] ||
      fail "$pass_name: round $(cat "/run/rounds-$pass_name"): $(tail -n 20 "/run/load-$pass_name")"
  done
}

# rounds_since FILE: each load has done a round more than it says there.
rounds_since() {
  loads_pass
  for since_name in $loads; do
    [ "$(cat "/run/rounds-$since_name")" -gt "$(grep "^$since_name " "$1" | cut -d " " -f 2)" ] || return 1
  done
}
note_rounds() { for note_name in $loads; do echo "$note_name $(cat "/run/rounds-$note_name")"; done >"$1"; }

# moved KIND: once each load has done a round, the guest is moved. Each load does at least two more
# rounds then: the first may have begun behind the move.
moved() {
  note_rounds /run/rounds
  wait_for 120 rounds_since /run/rounds || { loads_pass; fail "a load does nothing: $(cat /run/rounds)"; }
  moved_seconds=$(host move "$1") || fail "the guest cannot be moved: $1"
  for moved_times in 1 2; do
    note_rounds /run/rounds
    wait_for 120 rounds_since /run/rounds || { cat /run/load-*; fail "moved, $1: a load does nothing: $(cat /run/rounds)"; }
  done
  say "moved, $1: the machine stood still for $moved_seconds s"
}

loads_end() {
  touch /run/loads-end
  wait_for 120 no_load_runs || fail "a load does not end"
  loads_pass
  note_rounds /run/rounds
  say "rounds: $(tr '\n' ' ' </run/rounds)"
}
no_load_runs() { [ -z "$(jobs -r | grep -v ibv_asyncwatch)" ]; }

# pair_once COMMAND...: as server, and as client of localhost.
pair_once() {
  "$@" >/run/once-server 2>&1 &
  once_server=$!
  wait_for 30 listening || return 1
  "$@" localhost || return 1
  wait $once_server || { cat /run/once-server; return 1; }
}

rping_once() {
  rping -s -a "$1" -C 50 -S 4096 -V >/run/rping-server 2>&1 &
  rping_server=$!
  wait_for 30 rping_listens || return 1
  rping_status=0
  timeout 150 rping -c -a "$1" -C 50 -S 4096 -v -V >/run/rping-client 2>&1 || rping_status=$?
  ended_well $rping_status /run/rping-client && grep -q rdma-ping-49 /run/rping-client || {
    cat /run/rping-server /run/rping-client
    return 1
  }
  wait $rping_server || ended_well $? /run/rping-server
}
rping_listens() { rdma resource show cm_id | grep -q "LISTEN.*7174"; }

# nvme_up ADDRESS: a disk in memory as a target of NVMe over RDMA, and its host, /dev/nvme0n1.
nvme_up() {
  for nvme_module in rdma_cm nvmet-rdma nvme-rdma; do modprobe $nvme_module || fail "modprobe $nvme_module"; done
  modprobe brd rd_nr=1 rd_size=16384 || fail "modprobe brd"
  [ -d $target ] || mount -t configfs none /sys/kernel/config || fail "configfs"
  mkdir $target/subsystems/$nvme_name $target/subsystems/$nvme_name/namespaces/1 $target/ports/1 || fail "the target"
  echo 1 >$target/subsystems/$nvme_name/attr_allow_any_host
  echo -n /dev/ram0 >$target/subsystems/$nvme_name/namespaces/1/device_path
  echo 1 >$target/subsystems/$nvme_name/namespaces/1/enable
  echo rdma >$target/ports/1/addr_trtype
  echo ipv4 >$target/ports/1/addr_adrfam
  echo "$1" >$target/ports/1/addr_traddr
  echo 4420 >$target/ports/1/addr_trsvcid
  ln -s $target/subsystems/$nvme_name $target/ports/1/subsystems/$nvme_name || fail "the target's port"
  echo "transport=rdma,traddr=$1,trsvcid=4420,nqn=$nvme_name" >/dev/nvme-fabrics || fail "the host does not connect"
  wait_for 20 [ -b /dev/nvme0n1 ] || fail "no disk nvme0n1"
}

# blocks_once: 4 MiB of other bytes each time, written past the cache and read back.
blocks_once() {
  head -c 4194304 /dev/urandom >/run/blocks
  dd if=/run/blocks of=/dev/nvme0n1 bs=64k oflag=direct conv=fsync 2>&1 || return 1
  dd if=/dev/nvme0n1 bs=64k count=64 iflag=direct 2>/dev/null | cmp - /run/blocks
}

nvme_down() {
  echo 1 >/sys/class/nvme/nvme0/delete_controller || fail "the host does not disconnect"
  rm $target/ports/1/subsystems/$nvme_name
  rmdir $target/ports/1 $target/subsystems/$nvme_name/namespaces/1 $target/subsystems/$nvme_name || fail "the target stays"
  for nvme_module in nvme-rdma nvmet-rdma brd; do modprobe -r $nvme_module || fail "modprobe -r $nvme_module"; done
}

# links_downed: of all ports, by the adapter's counters.
links_downed() { cat /sys/class/infiniband/mlx4_0/ports/*/counters/link_downed | tr '\n' ' '; }

# events_start, events_end: no asynchronous event reaches a program in between.
events_start() {
  ibv_asyncwatch -d mlx4_0 >/run/events 2>&1 &
  events_pid=$!
  wait_for 10 grep -q "mlx4_0" /run/events || fail "ibv_asyncwatch: $(cat /run/events)"
}
events_end() {
  kill $events_pid
  wait $events_pid 2>/dev/null
  ! grep "event_type" /run/events || fail "events of the adapter"
}
