#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests on a cable that loses, overtakes, doubles and damages packets in both directions: what
# reliable connections deliver is whole and in order, or they end because their retries are over;
# what is unreliable loses and never changes. rdma-core's pingpongs are no measure here: the one
# that is done first goes, and when its last acknowledgement was lost, the other's retries are over,
# as they should be.
# options: --hosts 2 --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/linux_two_hosts.sh:/guest/linux_two_hosts.sh
# program: numbered_messages
# again: device_server long --device-server
# again: device_server_no_iommu long --device-server --no-iommu
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/linux_two_hosts.sh
. /guest/linux_two_hosts.sh

# link_faults RATE: packets in a million, of each kind of fault.
link_faults() {
  host sync "faults"
  host set x-fault-link1 "loss:$1:reordering:$1:duplication:$1:corruption:$1:seed:$HOST_INDEX" ||
    fail "x-fault-link1"
  host sync "faults set"
}

# faulty: how many packets of this host's the cable has spoilt.
faulty() {
  faulty_sum=0
  for faulty_kind in lost reordered duplicated corrupted; do
    faulty_sum=$((faulty_sum + $(host get port1_fault_$faulty_kind)))
  done
  echo $faulty_sum
}

# least SERVICE RATE: how many of 400 messages must arrive, however bad the link. At 10 % of each
# fault one packet in five is lost or changed: of datagrams, which are one packet each, about 325
# arrive, of messages of UC, all of whose packets must, about 180. A reliable connection that ends
# before it has moved a tenth shows nothing.
least() {
  case "$1 $2" in
    "rc 100000") echo 40 ;;
    "uc 100000") echo 100 ;;
    "ud 100000") echo 240 ;;
    rc*) echo 400 ;;
    *) echo 320 ;;
  esac
}

log_mark
two_hosts_up
for rate in 1000 10000 100000; do
  say "$rate in a million of each fault"
  before=$(faulty)
  link_faults $rate
  for run in "rc send" "rc write" "rc read" "rc add" "uc send" "uc write" "ud send"; do
    set -- numbered_messages -c "${run% *}" -o "${run#* }" --least "$(least "${run% *}" $rate)"
    # Up to 1 % of each fault, eight times in a row the same packet's is once in 10^11.
    [ "$rate" -gt 10000 ] || set -- "$@" --all
    # At 10 % a connection may end at its first message (one in some thousand does): then another is
    # made, three in all.
    tries=1
    until both "$@" -- "$@" 10.0.1.1; do
      [ "$both_status" = 3 ] && [ $tries -lt 3 ] || fail "$run: $(cat /run/server /run/client)"
      say "$run: $(tail -n 1 /run/server /run/client 2>/dev/null)"
      tries=$((tries + 1))
    done
    say "$run: $(cat /run/server /run/client 2>/dev/null | tail -n 1)"
  done
  # IPoIB's connections have no retries (Linux ipoib_cm.c, ipoib_cm_send_req): each fault ends one.
  case $rate in
    1000)
      ip link set ib0 type ipoib mode connected || fail "mode connected"
      copy_to_other 4 "connected mode"
      ip link set ib0 type ipoib mode datagram || fail "mode datagram"
      ;;
    10000) copy_to_other 1 "datagram mode" ;;
  esac
  link_faults 0
  spoilt=$(($(faulty) - before))
  say "$spoilt packets spoilt"
  [ $spoilt -ge $((rate / 1000)) ] || fail "hardly a fault"
done
two_hosts_down
log_clean || fail "the kernel's log"
no_complaints
