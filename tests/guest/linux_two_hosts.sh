# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: two guests with Linux's own drivers, cabled port to port, OpenSM and IPoIB. Server and
# subnet manager: host 1. Needs linux_traffic.sh and linux_ipoib.sh. Put into the guest with
#   # options: --file tests/guest/linux_two_hosts.sh:/guest/linux_two_hosts.sh
# shellcheck disable=SC2034 # read by cases
other=$((3 - HOST_INDEX))
device=/sys/class/infiniband/mlx4_0

# opensm_start LID: one that polls the master often, and gives host 1 this LID, host 2 the LID 2.
opensm_start() {
  mkdir -p /run/opensm-cache
  echo "0x0002c90300f0ca01 $1 $1
0x0002c90300f0cb01 2 2" >/run/opensm-cache/guid2lid
  echo "honor_guid2lid_file TRUE
sminfo_polling_timeout 1000
polling_retry_number 2" >/run/opensm.conf
  OSM_CACHE_DIR=/run/opensm-cache opensm -F /run/opensm.conf -g "$(cat /run/port-guid)" -f /run/opensm.log >/run/opensm.out 2>&1 &
  opensm_pid=$!
}

opensm_stop() {
  kill -9 "$opensm_pid"
  wait "$opensm_pid" 2>/dev/null
}

lid_is() { [ $(($(cat $device/ports/1/lid))) = "$1" ]; }
sm_lid_is() { [ $(($(cat $device/ports/1/sm_lid))) = "$1" ]; }

# two_hosts_up: both have an Active port, and the address 10.0.1.HOST_INDEX on it.
two_hosts_up() {
  modprobe mlx4_core && modprobe mlx4_ib && modprobe ib_uverbs && modprobe ib_umad || fail "modprobe"
  wait_for 10 [ -e $device ] || fail "no device mlx4_0"
  ibstat mlx4_0 1 | sed -n 's/.*Port GUID: //p' >/run/port-guid
  host sync loaded
  [ "$HOST_INDEX" = 2 ] || opensm_start 1
  wait_for 30 port_active mlx4_0 1 || fail "port 1 is not active: $(ibstat mlx4_0 1; cat /run/opensm.out)"
  lid_is "$HOST_INDEX" && sm_lid_is 1 || fail "LIDs: $(ibstat mlx4_0 1)"
  ipoib_up ib0 "10.0.1.$HOST_INDEX"
  host sync "addresses"
}

# both SERVER... -- CLIENT...: the first on host 1, and when it listens, the second on host 2. True
# when this host's ended well; its exit status is in both_status, its output in /run/server or
# /run/client.
both() {
  both_server=
  while [ "$1" != -- ]; do
    both_server="$both_server $1"
    shift
  done
  shift
  if [ "$HOST_INDEX" = 1 ]; then
    # shellcheck disable=SC2086 # words
    $both_server >/run/server 2>&1 &
    both_pid=$!
    case $both_server in
      *mckey*) wait_for 20 mckey_joined ;;
      *rping* | *ucmatose* | *udaddy*) wait_for 20 connection_listens ;;
      *) wait_for 20 listening ;;
    esac || fail "$both_server: is not ready: $(cat /run/server)"
    host sync listening
    both_status=0
    wait $both_pid || both_status=$?
    ended_well $both_status /run/server && both_status=0
  else
    host sync listening
    both_status=0
    "$@" >/run/client 2>&1 || both_status=$?
    ended_well $both_status /run/client && both_status=0
  fi
  [ $both_status = 0 ]
}

# pair COMMAND...: as in linux_traffic.sh, but the server on host 1 and the client on host 2.
# shellcheck disable=SC2034 # read by linux_perftest.sh
[ "$HOST_INDEX" = 2 ] || pair_side=server
pair() {
  both "$@" -- "$@" 10.0.1.1 || fail "$*: $(cat /run/server /run/client)"
  [ "$HOST_INDEX" = 1 ] || say "$*: $(grep -v "^-*\$" /run/client | tail -n 1 | tr -s " ")"
}

# copy_to_other MIB WHAT: a file from host 2 to host 1 over TCP, compared by its checksum.
copy_to_other() {
  if [ "$HOST_INDEX" = 1 ]; then
    nc -l -p 5000 -e sh -c 'md5sum >/run/sum' &
    wait_for 10 sh -c 'ss -Hltn "sport = 5000" | grep -q .' || fail "no listener"
    host sync copy
    wait $!
    nc -l -p 5001 -e cat /run/sum &
    wait_for 10 sh -c 'ss -Hltn "sport = 5001" | grep -q .' || fail "no listener"
    host sync copied
    wait $!
  else
    random_file /run/file "$1"
    host sync copy
    nc 10.0.1.1 5000 </run/file || fail "copy, $2"
    host sync copied
    nc 10.0.1.1 5001 </dev/null >/run/far-sum || fail "the sum of the copy"
    md5sum </run/file >/run/sum
    cmp /run/sum /run/far-sum || fail "$1 MiB, $2: not what was sent"
    say "$1 MiB, $2: $(cat /run/sum)"
    rm /run/file
  fi
  host sync "copy done"
}

# two_hosts_down: host 1's OpenSM too.
two_hosts_down() {
  host sync "all done"
  [ "$HOST_INDEX" = 2 ] || opensm_stop
  ip link set ib0 down
  linux_down
}
