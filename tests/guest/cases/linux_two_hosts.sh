#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests with Linux's own drivers, cabled port to port, and OpenSM in one of them: both ports become Active, traffic
# crosses, OpenSM dies and the other host's takes over, a LID changes under traffic. Server and subnet manager: host 1.
# options: --hosts 2 --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# timeout: 600
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
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

opensm_says() { grep -q "$1" /run/opensm.out; }
lid_is() { [ $(($(cat $device/ports/1/lid))) = "$1" ]; }
sm_lid_is() { [ $(($(cat $device/ports/1/sm_lid))) = "$1" ]; }

# traffic COMMAND...: as server on host 1 and as client on host 2, over TCP by IPoIB.
traffic() {
  host sync "before traffic"
  if [ "$HOST_INDEX" = 1 ]; then
    "$@" >/run/server 2>&1 &
    wait_for 30 listening || fail "$*: no server: $(cat /run/server)"
    host sync listening
    wait $! || fail "$*: server: $(cat /run/server)"
  else
    host sync listening
    "$@" 10.0.1.1 >/run/client 2>&1 || fail "$*: client: $(cat /run/client)"
    say "$*: $(grep -v "^-*\$" /run/client | tail -n 1 | tr -s " ")"
  fi
}

log_mark
modprobe mlx4_core && modprobe mlx4_ib && modprobe ib_uverbs && modprobe ib_umad || fail "modprobe"
wait_for 10 [ -e $device ] || fail "no device mlx4_0"
ibstat mlx4_0 1 | sed -n 's/.*Port GUID: //p' >/run/port-guid
host sync loaded
[ "$HOST_INDEX" = 2 ] || opensm_start 1
wait_for 30 port_active mlx4_0 1 || fail "port 1 is not active: $(ibstat mlx4_0 1; cat /run/opensm.out)"
lid_is "$HOST_INDEX" && sm_lid_is 1 || fail "LIDs: $(ibstat mlx4_0 1)"
ipoib_up ib0 "10.0.1.$HOST_INDEX"
host sync "addresses"

ping_far "10.0.1.$other" "datagram"
for service in rc uc ud srq; do traffic ibv_${service}_pingpong -n 100 -c; done
traffic ibv_xsrq_pingpong -n 100
for run in "send_bw -c RC -s 65536" "send_lat -c UD -s 64" "write_bw -c RC -s 1048576 -n 8" "write_lat -c UC -s 4096" \
  "read_bw -c RC -s 65536 -e" "send_bw -c XRC -s 4096" "atomic_bw -c RC" "write_bw -c RC -s 64 -q 64"; do
  # shellcheck disable=SC2086 # words
  case $run in
    *-n*) traffic ib_$run -d mlx4_0 -F ;;
    *) traffic ib_$run -d mlx4_0 -F -n 100 ;;
  esac
done

say "tools"
tool "Active/ +LinkUp" iblinkinfo
tool "PortXmitPkts:\.+[1-9]" perfquery $other 1
tool "LinkState:\.+Active" smpquery portinfo $other
host sync "tools"

for mode in datagram connected; do
  ip link set ib0 type ipoib mode $mode || fail "mode $mode"
  host sync "mode"
  ping_far "10.0.1.$other" $mode
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
    dd if=/dev/urandom of=/run/file bs=1M count=64 2>/dev/null
    host sync copy
    nc 10.0.1.1 5000 </run/file || fail "copy, $mode"
    host sync copied
    nc 10.0.1.1 5001 </dev/null >/run/far-sum || fail "the sum of the copy"
    md5sum </run/file >/run/sum
    cmp /run/sum /run/far-sum || fail "64 MiB, $mode: not what was sent"
    say "64 MiB, $mode: $(cat /run/sum)"
  fi
  host sync "copy done"
done

say "the subnet manager dies, and the other host's takes over"
if [ "$HOST_INDEX" = 2 ]; then
  opensm_start 1
  wait_for 20 opensm_says "Entering STANDBY" || fail "no standby: $(cat /run/opensm.out)"
fi
host sync standby
[ "$HOST_INDEX" = 2 ] || kill -9 "$opensm_pid"
[ "$HOST_INDEX" = 1 ] || wait_for 30 opensm_says "Entering MASTER" || fail "no master: $(cat /run/opensm.out)"
wait_for 30 sm_lid_is 2 || fail "nobody says that the subnet manager is at LID 2: $(ibstat mlx4_0 1)"
host sync master
tool "SMINFO_MASTER" sminfo
ping_far "10.0.1.$other" "with the other subnet manager"
host sync "other manager"

say "a LID changes under traffic"
ping -i 0.2 "10.0.1.$other" >/run/ping-long 2>&1 &
ping_pid=$!
if [ "$HOST_INDEX" = 2 ]; then
  kill -9 "$opensm_pid"
  opensm_start 17
fi
[ "$HOST_INDEX" = 2 ] || wait_for 60 lid_is 17 || fail "no new LID: $(ibstat mlx4_0 1)"
host sync "new LID"
ping_far "10.0.1.$other" "with the new LID"
host sync "pinged"
kill $ping_pid
wait $ping_pid 2>/dev/null
traffic ibv_rc_pingpong -n 100 -c
host sync "all done"

[ "$HOST_INDEX" = 1 ] || { kill -9 "$opensm_pid"; wait "$opensm_pid" 2>/dev/null; }
ip link set ib0 down
linux_down
log_clean || fail "the kernel's log"
no_complaints
