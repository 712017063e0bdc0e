# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: programs that work without a pause while the guest is moved to another QEMU process, or
# another process becomes its adapter.
# Needs linux_traffic.sh and linux_ipoib.sh. Put into the guest with
#   # options: --file tests/guest/linux_moves.sh:/guest/linux_moves.sh
target=/sys/kernel/config/nvmet
nvme_name=freehca

# load NAME COMMAND...: runs the command again and again, until loads_end. Each round is counted.
# A round that fails ends the load.
loads=
load_pids=
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
  load_pids="$load_pids $!"
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

# loads_go_on WHAT: each load does at least two more rounds. The first may have begun behind what
# was done.
loads_go_on() {
  for _ in 1 2; do
    note_rounds /run/rounds
    wait_for 100 rounds_since /run/rounds || {
      tail -n 40 /run/load-* /run/served-*
      ps
      host get explanations
      fail "$1: a load does nothing; rounds before: $(tr '\n' ' ' </run/rounds), now: $(tail -qn 1 /run/rounds-* | tr '\n' ' ')"
    }
  done
}

# moved KIND: once each load has done a round, the guest is moved.
moved() {
  loads_go_on "before it is moved"
  moved_seconds=$(host move "$1") || fail "the guest cannot be moved: $1"
  loads_go_on "moved, $1"
  say "moved, $1: the machine stood still for $moved_seconds s"
}

# upgraded: the same with another process of the adapter.
upgraded() {
  loads_go_on "before the upgrade"
  upgraded_version=$(host adapter upgrade) || fail "the adapter cannot be upgraded"
  loads_go_on "upgraded"
  say "upgraded: $upgraded_version"
}

loads_end() {
  touch /run/loads-end
  for end_pid in $load_pids; do
    wait "$end_pid"
  done
  loads_pass
  note_rounds /run/rounds
  say "rounds: $(tr '\n' ' ' </run/rounds)"
}

# servers_end: those of `serve`, which wait for a client.
servers_end() {
  touch /run/loads-end
  for end_name in ib_write_bw rping nc; do
    killall -q $end_name
  done
}

# serve COMMAND...: a server that ends with its client is begun again and again, until loads_end.
serve() {
  (
    until [ -e /run/loads-end ]; do
      "$@"
    done
  ) >"/run/server-$1" 2>&1 &
}

# served PATTERN COMMAND...: as client of `serve`. It is tried again while no server listens, which
# its output tells by the pattern.
served() {
  served_refused=$1
  shift
  for served_try in $(seq 200); do
    served_status=0
    timeout 150 "$@" >/run/served-"$1" 2>&1 || served_status=$?
    if [ $served_status = 0 ] || ! grep -qE "$served_refused" /run/served-"$1"; then
      ended_well $served_status /run/served-"$1" && return 0
      break
    fi
    sleep 0.1
  done
  echo "$*: try $served_try, status $served_status"
  cat /run/served-"$1"
  return 1
}
writes_once() { served "Couldn't connect" ib_write_bw "$@"; }
pings_once() {
  served "RDMA_CM_EVENT_REJECTED" rping -c -a "$1" -C 50 -S 4096 -v -V && grep -q rdma-ping-49 /run/served-rping
}

# other_bytes FILE: 4 MiB that no other call gives.
other_bytes() {
  head -c 1048573 /dev/urandom >"$1-block" || return 1
  for _ in 1 2 3 4 5; do cat "$1-block"; done | head -c 4194304 >"$1"
}

# copies_serve, copies_once ADDRESS: 4 MiB of other bytes each time by TCP; the answer is their sum.
copies_serve() { serve nc -l -p 5000 -e md5sum; }
copies_once() {
  other_bytes /run/copied || return 1
  for _ in $(seq 200); do
    timeout 150 nc "$1" 5000 </run/copied >/run/far-sum && break
    sleep 0.1
  done
  md5sum </run/copied | cmp - /run/far-sum
}

# nvme_target ADDRESS: a disk in memory is offered by NVMe over RDMA.
nvme_target() {
  for nvme_module in rdma_cm nvmet-rdma; do modprobe $nvme_module || fail "modprobe $nvme_module"; done
  modprobe brd rd_nr=1 rd_size=16384 || fail "modprobe brd"
  [ -d $target ] || mount -t configfs none /sys/kernel/config || fail "configfs"
  mkdir $target/subsystems/$nvme_name $target/subsystems/$nvme_name/namespaces/1 $target/ports/1 || fail "the target"
  echo 1 >$target/subsystems/$nvme_name/attr_allow_any_host
  printf /dev/ram0 >$target/subsystems/$nvme_name/namespaces/1/device_path
  echo 1 >$target/subsystems/$nvme_name/namespaces/1/enable
  echo rdma >$target/ports/1/addr_trtype
  echo ipv4 >$target/ports/1/addr_adrfam
  echo "$1" >$target/ports/1/addr_traddr
  echo 4420 >$target/ports/1/addr_trsvcid
  ln -s $target/subsystems/$nvme_name $target/ports/1/subsystems/$nvme_name || fail "the target's port"
}
nvme_target_down() {
  rm $target/ports/1/subsystems/$nvme_name
  rmdir $target/ports/1 $target/subsystems/$nvme_name/namespaces/1 $target/subsystems/$nvme_name || fail "the target stays"
  for nvme_module in nvmet-rdma brd; do modprobe -r $nvme_module || fail "modprobe -r $nvme_module"; done
}

# nvme_host ADDRESS: the target's disk is /dev/nvme0n1.
nvme_host() {
  modprobe nvme-rdma || fail "modprobe nvme-rdma"
  echo "transport=rdma,traddr=$1,trsvcid=4420,nqn=$nvme_name,nr_io_queues=1" >/dev/nvme-fabrics ||
    fail "the host does not connect"
  wait_for 20 [ -b /dev/nvme0n1 ] || fail "no disk nvme0n1"
}
nvme_host_down() {
  echo 1 >/sys/class/nvme/nvme0/delete_controller || fail "the host does not disconnect"
  modprobe -r nvme-rdma || fail "modprobe -r nvme-rdma"
}

# blocks_once: 4 MiB of other bytes each time, written past the cache and read back.
blocks_once() {
  other_bytes /run/blocks || return 1
  dd if=/run/blocks of=/dev/nvme0n1 bs=64k oflag=direct conv=fsync 2>&1 || return 1
  dd if=/dev/nvme0n1 bs=64k count=64 iflag=direct 2>/dev/null | cmp - /run/blocks
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
  kill "$events_pid"
  wait "$events_pid" 2>/dev/null
  ! grep "event_type" /run/events || fail "events of the adapter"
}

# one_guest_up, one_guest_down: RDMA writes, rping and NVMe in loopback. TCP is not among them: the
# kernel takes it from the guest to itself past the adapter.
one_guest_up() {
  linux_up
  ipoib_up ib0 10.0.1.1
  nvme_target 10.0.1.1
  nvme_host 10.0.1.1
  downs=$(links_downed)
  events_start
  serve ib_write_bw -d mlx4_0 -F -s 65536 -n 2000
  serve rping -s -a 10.0.1.1 -C 50 -S 4096 -V
  load writes writes_once -d mlx4_0 -F -s 65536 -n 2000 localhost
  load pings pings_once 10.0.1.1
  load blocks blocks_once
}
one_guest_down() {
  loads_end
  servers_end
  events_end
  [ "$(links_downed)" = "$downs" ] || fail "a link went down"
  nvme_host_down
  nvme_target_down
  linux_down
}

# moves_between_hosts ADDRESS KINDS [PERFTEST OPTIONS...]: host 1, of that address, has the servers.
# Host 2 has the loads, and is moved once for each word of KINDS.
moves_between_hosts() {
  between_address=$1
  between_kinds=$2
  shift 2
  set -- -d mlx4_0 -F -s 65536 -n 1000 "$@"
  if [ "$HOST_INDEX" = 1 ]; then
    nvme_target "$between_address"
    serve ib_write_bw "$@"
    serve rping -s -a "$between_address" -C 50 -S 4096 -V
    copies_serve
    host sync "served"
  else
    host sync "served"
    nvme_host "$between_address"
    load writes writes_once "$@" "$between_address"
    load pings pings_once "$between_address"
    load blocks blocks_once
    load copies copies_once "$between_address"
  fi
  downs=$(links_downed)
  events_start
  for between_kind in $between_kinds; do
    [ "$HOST_INDEX" = 1 ] || moved "$between_kind"
    host sync "moved, $between_kind" || fail "the other host"
  done
  [ "$HOST_INDEX" = 1 ] || loads_end
  host sync "loads end"
  events_end
  [ "$(links_downed)" = "$downs" ] || fail "a link went down: $downs, and now $(links_downed)"
  [ "$HOST_INDEX" = 1 ] || nvme_host_down
  host sync "no host"
  if [ "$HOST_INDEX" = 1 ]; then
    servers_end
    nvme_target_down
  fi
}
