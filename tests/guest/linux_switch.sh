# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: hosts with Linux's own drivers whose cables lead to freehca-switch, and OpenSM in host
# 1. Host n has LID n and is at port n of the switch, whose LID is 10. Needs linux_traffic.sh and
# linux_ipoib.sh. Put into the guest with
#   # options: --file tests/guest/linux_switch.sh:/guest/linux_switch.sh
device=/sys/class/infiniband/mlx4_0
switch_guid=0002c90300f0d000
switch_lid=10
hosts=$(seq "$HOST_COUNT")

host_guid() { printf '0002c90300f0c%x00' $((9 + $1)); }
port_guid() { printf '0002c90300f0c%x01' $((9 + $1)); }

opensm_start() {
  mkdir -p /run/opensm-cache
  # An entry ends with an empty line (OpenSM's osm_db_files.c).
  {
    for opensm_host in $hosts; do printf '0x%s %s %s\n\n' "$(port_guid "$opensm_host")" "$opensm_host" "$opensm_host"; done
    printf '0x%s %s %s\n\n' "$switch_guid" "$switch_lid" "$switch_lid"
  } >/run/opensm-cache/guid2lid
  echo "honor_guid2lid_file TRUE" >/run/opensm.conf
  OSM_CACHE_DIR=/run/opensm-cache opensm -F /run/opensm.conf -g "0x$(port_guid 1)" -f /run/opensm.log \
    >/run/opensm.out 2>&1 &
  opensm_pid=$!
}

lid_is() { [ $(($(cat $device/ports/1/lid))) = "$1" ]; }
port_has_gone() { ! port_active mlx4_0 1; }

# opensm_told: what OpenSM complains of.
opensm_told() {
  [ "$HOST_INDEX" != 1 ] || tail -n 60 /run/opensm.log
}

switch_up() {
  modprobe mlx4_core && modprobe mlx4_ib && modprobe ib_uverbs && modprobe ib_umad || fail "modprobe"
  wait_for 10 [ -e $device ] || fail "no device mlx4_0"
  host sync loaded
  [ "$HOST_INDEX" != 1 ] || opensm_start
  wait_for 60 port_active mlx4_0 1 || fail "port 1 is not active: $(ibstat mlx4_0 1; opensm_told)"
  lid_is "$HOST_INDEX" || fail "another LID: $(ibstat mlx4_0 1)"
  host sync active
}

# fabric_is_whole: what infiniband-diags say of the switch and of each of its ports, by host 1.
fabric_is_whole() {
  [ "$HOST_INDEX" = 1 ] || return 0
  tool "^Switch.*\"S-$switch_guid\".*freehca-switch.*base port 0 lid $switch_lid lmc 0" ibnetdiscover
  mv /run/tool /run/fabric
  for fabric_host in $hosts; do
    grep -qE "^\[$fabric_host\].*\"H-$(host_guid "$fabric_host")\"\[1\].*lid $fabric_host 4xFDR" /run/fabric ||
      fail "ibnetdiscover: port $fabric_host: $(cat /run/fabric)"
    tool "LinkState:\.+Active" smpquery portinfo $switch_lid "$fabric_host"
  done
  tool "Active/ +LinkUp" iblinkinfo
  [ "$(grep -c "Active/ *LinkUp" /run/tool)" -ge "$HOST_COUNT" ] || fail "iblinkinfo: $(cat /run/tool)"
  tool "NumPorts:\.+$HOST_COUNT" smpquery nodeinfo $switch_lid
  tool "^Guid:\.+0x$switch_guid" smpquery -D nodeinfo 0,1
  tool "^Guid:\.+0x$(host_guid 2)" smpquery -D nodeinfo 0,1,2
  tool "StateChange:\.+0" smpquery switchinfo $switch_lid
  tool "0x0002 002" ibroute $switch_lid
  tool "valid mlids dumped" ibroute -M $switch_lid
  tool "." smpquery pkeys $switch_lid 1
  tool "." smpquery sl2vl $switch_lid 1
  tool "." smpquery vlarb $switch_lid 1
  tool "." smpquery guidinfo $switch_lid
}

# counters_of_switch: by the performance management agent, by host 1.
counters_of_switch() {
  [ "$HOST_INDEX" = 1 ] || return 0
  for fabric_host in $hosts; do
    tool "PortXmitPkts:\.+[1-9]" perfquery $switch_lid "$fabric_host"
    tool "PortUnicastXmitPkts:\.+[1-9]" perfquery -x $switch_lid "$fabric_host"
    tool "PortRcvErrors:\.+0$" perfquery $switch_lid "$fabric_host"
  done
  tool "PortXmitPkts:\.+[1-9]" perfquery -a $switch_lid
  perfquery -R $switch_lid 2 0x8000 >/run/tool 2>&1 || fail "perfquery -R: $(cat /run/tool)"
}

# ibping_all: each host answers, and each asks each of the others.
ibping_all() {
  ibping -S >/dev/null 2>&1 &
  ibping_server=$!
  host sync "ibping"
  for ibping_host in $hosts; do
    [ "$ibping_host" != "$HOST_INDEX" ] || continue
    wait_for 20 sh -c "ibping -c 1 $ibping_host | grep -q ' 1 received'" || fail "ibping: no server at $ibping_host"
    tool "3 packets transmitted, 3 received, 0% packet loss" ibping -c 3 "$ibping_host"
  done
  host sync "ibpinged"
  kill $ibping_server
  wait $ibping_server 2>/dev/null
}

ping_all() {
  for ping_host in $hosts; do
    [ "$ping_host" = "$HOST_INDEX" ] || wait_for 60 reaches "$ping_host" || fail "ping, $1: no way to $ping_host"
  done
  host sync "ping, $1"
}

# from_each COMMAND...: host 1 is the server of each other host in turn.
from_each() {
  for each_host in $hosts; do
    [ "$each_host" != 1 ] || continue
    if [ "$HOST_INDEX" = 1 ]; then
      "$@" >/run/server 2>&1 &
      each_server=$!
      wait_for 20 listening || fail "$*: the server does not listen: $(cat /run/server)"
    fi
    host sync "listening"
    if [ "$HOST_INDEX" = "$each_host" ]; then
      "$@" 10.0.1.1 >/run/client 2>&1 || fail "$*: $(cat /run/client)"
      say "$*: $(grep -v "^-*\$" /run/client | tail -n 1 | tr -s " ")"
    fi
    [ "$HOST_INDEX" != 1 ] || wait "$each_server" || fail "$*: $(cat /run/server)"
    host sync "done"
  done
}

# reaches HOST: without a loss. While OpenSM sweeps anew IPoIB forgets its paths, and a packet with
# them.
reaches() { ping -c 10 -i 0.1 -W 5 "10.0.1.$1" 2>&1 | grep -q ' 0% packet loss'; }

# heals WHAT COMMAND...: while the hosts ping each other host 1 does something to the switch; the
# fabric comes back by itself.
heals() {
  heals_what=$1
  shift
  heals_other=$((HOST_INDEX % HOST_COUNT + 1))
  ping -i 0.2 10.0.1.$heals_other >/run/ping-long 2>&1 &
  heals_ping=$!
  heals_ups=$(cat $device/ports/1/counters/link_downed)
  host sync "$heals_what"
  [ "$HOST_INDEX" != 1 ] || { "$@" && host switch start; } || fail "$heals_what"
  wait_for 30 link_was_down "$heals_ups" || fail "$heals_what: nobody notices: $(ibstat mlx4_0 1)"
  wait_for 90 port_active mlx4_0 1 || fail "$heals_what: $(ibstat mlx4_0 1; opensm_told)"
  for heals_host in $hosts; do
    [ "$heals_host" = "$HOST_INDEX" ] || wait_for 90 reaches "$heals_host" || fail "$heals_what: no way to $heals_host"
  done
  host sync "healed"
  kill $heals_ping
  wait $heals_ping 2>/dev/null
}
link_was_down() { [ "$(cat $device/ports/1/counters/link_downed)" -gt "$1" ]; }

switch_down() {
  host sync "all done"
  [ "$HOST_INDEX" != 1 ] || { kill -9 "$opensm_pid"; wait "$opensm_pid" 2>/dev/null; }
  ip link set ib0 down
  linux_down
}
