# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: IPoIB, rdma_cm's test programs and infiniband-diags with Linux's own drivers. Needs
# linux_traffic.sh. Put into the guest with
#   # options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh

link_running() { ip link show "$1" | grep -q LOWER_UP; }

# ipoib_up INTERFACE ADDRESS: loads IPoIB and rdma_cm, and waits until the interface has joined its
# broadcast group.
ipoib_up() {
  modprobe ib_ipoib && modprobe rdma_ucm || fail "modprobe ib_ipoib rdma_ucm"
  wait_for 10 [ -e "/sys/class/net/$1" ] || fail "no interface $1"
  ip link set "$1" up && ip addr add "$2/24" dev "$1" || fail "$1: its address"
  wait_for 20 link_running "$1" || fail "$1 does not join its broadcast group: $(ip link show "$1")"
}

connection_listens() { rdma resource show cm_id | grep -q LISTEN; }

# mckey_joined: a subnet knows the group that mckey makes of 224.0.1.5.
mckey_joined() {
  for mckey_port in 1 2; do
    saquery -P $mckey_port -g 2>/dev/null | grep -q 'ff12:4001:ffff::105' && return 0
  done
  return 1
}

# connection PATTERN SERVER... -- CLIENT...: both end well, and the client's output has the pattern.
connection() {
  connection_pattern=$1
  shift
  connection_server=
  while [ "$1" != -- ]; do
    connection_server="$connection_server $1"
    shift
  done
  shift
  # shellcheck disable=SC2086 # words
  $connection_server >/run/server 2>&1 &
  connection_pid=$!
  case $connection_server in
    *mckey*) wait_for 20 mckey_joined ;;
    *) wait_for 20 connection_listens ;;
  esac || fail "$connection_server: is not ready: $(cat /run/server)"
  connection_status=0
  timeout 150 "$@" >/run/client 2>&1 || connection_status=$?
  if ended_well $connection_status /run/client && { wait $connection_pid || ended_well $? /run/server; } &&
    grep -q -- "$connection_pattern" /run/client; then
    say "$*"
  else
    cat /run/server /run/client
    fail "$*"
  fi
}

# ping_far ADDRESS WHAT
ping_far() {
  # The first one waits for the neighbour's path, and is lost where that takes too long.
  ping -c 2 -W 5 "$1" >/run/ping 2>&1
  ping -c 10 -i 0.1 -W 5 "$1" >/run/ping 2>&1 || fail "ping, $2: $(cat /run/ping)"
  grep -q ' 0% packet loss' /run/ping || fail "ping, $2: $(cat /run/ping)"
}

# copied_far ADDRESS WHAT MIB: a file to the namespace `far` over TCP, and its checksum there.
copied_far() {
  random_file /run/file "$3"
  ip netns exec far nc -l -p 5000 -e sh -c 'md5sum >/run/far-sum' &
  copied_pid=$!
  wait_for 10 ip netns exec far sh -c 'ss -Hltn "sport = 5000" | grep -q .' || fail "copy, $2: no listener"
  nc "$1" 5000 </run/file || fail "copy, $2"
  wait $copied_pid
  [ "$(cut -d ' ' -f 1 /run/far-sum)" = "$(md5sum </run/file | cut -d ' ' -f 1)" ] || fail "copy, $2: not what was sent"
  rm /run/file
}

# tool PATTERN COMMAND...: it succeeds and prints a line with the (extended regular) expression.
tool() {
  tool_pattern=$1
  shift
  timeout 150 "$@" >/run/tool 2>&1 || fail "$*: $(cat /run/tool)"
  grep -qE -- "$tool_pattern" /run/tool || fail "$*: nothing like $tool_pattern: $(cat /run/tool)"
}
