#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests with Linux's own drivers, cabled port to port, and OpenSM in one of them: both ports
# become Active, traffic crosses, OpenSM dies and the other host's takes over, a LID changes under
# traffic.
# options: --hosts 2 --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_two_hosts.sh:/guest/linux_two_hosts.sh
# again: device_server long --device-server
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/linux_two_hosts.sh
. /guest/linux_two_hosts.sh

opensm_says() { grep -q "$1" /run/opensm.out; }

# connect PATTERN SERVER... -- CLIENT...: both end well, and the client's output has the pattern.
connect() {
  connect_pattern=$1
  shift
  both "$@" || fail "$*: $(cat /run/server /run/client)"
  [ "$HOST_INDEX" = 1 ] || grep -q -- "$connect_pattern" /run/client || fail "$*: $(cat /run/client)"
}

log_mark
two_hosts_up

ping_far "10.0.1.$other" "datagram"
for service in rc uc ud srq; do pair ibv_${service}_pingpong -n 100 -c; done
pair ibv_xsrq_pingpong -n 100
for run in "send_bw -c RC -s 65536" "send_lat -c UD -s 64" "write_bw -c RC -s 1048576 -n 8" "write_lat -c UC -s 4096" \
  "read_bw -c RC -s 65536 -e" "send_bw -c XRC -s 4096" "atomic_bw -c RC" "write_bw -c RC -s 64 -q 64"; do
  # shellcheck disable=SC2086 # words
  case $run in
    *-n*) pair ib_$run -d mlx4_0 -F ;;
    *) pair ib_$run -d mlx4_0 -F -n 100 ;;
  esac
done
connect "rdma-ping-19" rping -s -a 10.0.1.1 -C 20 -S 4096 -V -- rping -c -a 10.0.1.1 -C 20 -S 4096 -V -v
connect "return status 0" ucmatose -b 10.0.1.1 -c 4 -C 20 -S 4096 -- ucmatose -s 10.0.1.1 -c 4 -C 20 -S 4096
connect "return status 0" udaddy -b 10.0.1.1 -c 4 -C 20 -S 1000 -- udaddy -s 10.0.1.1 -c 4 -C 20 -S 1000
connect "return status 0" mckey -m 224.0.1.5 -b 10.0.1.1 -- mckey -m 224.0.1.5 -b 10.0.1.2 -s

say "tools"
tool "Active/ +LinkUp" iblinkinfo
tool "PortXmitPkts:\.+[1-9]" perfquery $other 1
tool "LinkState:\.+Active" smpquery portinfo $other
tool "State: Active" ibstat mlx4_0 1
tool "lid\.+$other\$" saquery NR
tool "MGID\.+ff12:401b:ffff::ffff:ffff" saquery -g
if [ "$HOST_INDEX" = 1 ]; then
  ibping -S >/dev/null 2>&1 &
  ibping_server=$!
  host sync "ibping"
  host sync "ibpinged"
  kill $ibping_server
  wait $ibping_server 2>/dev/null
else
  host sync "ibping"
  wait_for 10 sh -c "ibping -c 1 1 | grep -q ' 1 received'" || fail "ibping: no server"
  tool "3 packets transmitted, 3 received, 0% packet loss" ibping -c 3 1
  host sync "ibpinged"
fi
host sync "tools"

# ib0_offloads: IPoIB has all that the adapter offers it, by the names of ethtool.
ib0_offloads() {
  for offload in rx-checksumming tx-checksumming tcp-segmentation-offload; do
    tool "^$offload: on" ethtool -k ib0
  done
}
packets_of_ib0() { cat /sys/class/net/ib0/statistics/tx_packets; }
packets_of_port() { cat $device/ports/1/counters/port_xmit_packets; }

say "offloads of IPoIB"
ip link set ib0 type ipoib mode datagram || fail "mode datagram"
host sync "offloads"
ib0_offloads
packets=$(packets_of_ib0)
on_the_link=$(packets_of_port)
copy_to_other 64 "with offloads"
packets=$(($(packets_of_ib0) - packets))
on_the_link=$(($(packets_of_port) - on_the_link))
say "$packets packets of ib0 were $on_the_link of the port"
# The driver counts a large send once. Host 2 sends the file, 2044 bytes to a packet at most; how
# large TCP makes its sends goes by the time that answers take.
[ "$HOST_INDEX" = 1 ] || [ $((10 * on_the_link)) -ge $((11 * packets)) ] || fail "no large sends"
# Tcp's last column: InCsumErrors.
[ "$(awk '/^Tcp:/ { wrong = $NF } END { print wrong }' /proc/net/snmp)" = 0 ] || fail "checksums"
ethtool -K ib0 tso off tx off rx off || fail "ethtool -K"
host sync "no offloads"
copy_to_other 16 "without offloads"
ethtool -K ib0 tx on rx on tso on || fail "ethtool -K"
ib0_offloads

for mode in datagram connected; do
  ip link set ib0 type ipoib mode $mode || fail "mode $mode"
  host sync "mode"
  ping_far "10.0.1.$other" $mode
  copy_to_other 64 $mode
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
pair ibv_rc_pingpong -n 100 -c
host sync "all done"

[ "$HOST_INDEX" = 1 ] || opensm_stop
ip link set ib0 down
linux_down
log_clean || fail "the kernel's log"
no_complaints
