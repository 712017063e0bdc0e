#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Unmodified programs of libibverbs on our driver over VFIO. The same programs with Debian's own
# libibverbs on Linux's mlx4_ib are at the other end. Two adapters of one guest and a switch; OpenSM
# manages them from the port of Linux's adapter.
# program: freehca-run
# needs: build/host/ibverbs/libfreehca-verbs-vfio.so
# options: --switch ib --adapters 2 --device mlx4,ports=1 --memory 1G
# options: --file build/host/ibverbs/libfreehca-verbs-vfio.so:/usr/lib/freehca/libfreehca-verbs-vfio.so
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# again: all long --env ALL_PROGRAMS=yes
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

# adapters: the PCI addresses of both.
adapters() { grep -l 0x15b3 /sys/bus/pci/devices/*/vendor | xargs -n 1 dirname | xargs -n 1 basename; }

# A program of ours sees our device alone, and a program of Linux's mlx4_0 alone.
on_ours() { freehca-run --device "vfio:$ours" -- "$@"; }
on_linux() { "$@"; }

# cross SERVER CLIENT COMMAND...: the command as server on one side (on_ours or on_linux), and with
# localhost as client on the other. Both have to end well.
cross() {
  cross_server=$1 cross_client=$2
  shift 2
  "$cross_server" "$@" >/run/server 2>&1 &
  cross_pid=$!
  wait_for 60 listening || fail "$*: $cross_server does not listen: $(cat /run/server)"
  if "$cross_client" "$@" localhost >/run/client 2>&1 && wait "$cross_pid"; then
    say "$cross_server, $cross_client: $*: $(grep -v "^-*\$" /run/client | tail -n 1 | tr -s " ")"
  else
    cat /run/server /run/client
    fail "$cross_server, $cross_client: $*"
  fi
}

log_mark
# shellcheck disable=SC2046 # words
set -- $(adapters)
[ $# = 2 ] || fail "adapters: $*"
ours=$2
bind_vfio "$ours" || fail "vfio-pci does not take $ours"
modprobe mlx4_core && modprobe mlx4_ib && modprobe ib_uverbs && modprobe ib_umad || fail "modprobe"
wait_for 10 [ -e /sys/class/infiniband/mlx4_0 ] || fail "no device mlx4_0"
[ ! -e /sys/class/infiniband/mlx4_1 ] || fail "Linux's driver has both"
printf 'sweep_interval 1\n' >/run/opensm.conf
mkdir -p /run/opensm-cache
OSM_CACHE_DIR=/run/opensm-cache opensm -F /run/opensm.conf -f /run/opensm.log >/run/opensm.out 2>&1 &
opensm_pid=$!
wait_for 30 port_active mlx4_0 1 || fail "port 1 is not active: $(ibstat mlx4_0 1; cat /run/opensm.out)"

on_ours ibv_devices >/run/devices || fail "ibv_devices"
grep -q freehca0 /run/devices || fail "ibv_devices: $(cat /run/devices)"
on_ours ibv_devinfo >/run/info 2>&1 || fail "ibv_devinfo: $(cat /run/info)"
grep -q PORT_ACTIVE /run/info || fail "ibv_devinfo: $(cat /run/info)"

both_ways() {
  cross on_ours on_linux "$@"
  cross on_linux on_ours "$@"
}
for service in rc uc ud srq; do both_ways ibv_${service}_pingpong -n 100 -c; done
both_ways ibv_rc_pingpong -n 100 -c -e
set -- "send_bw -c RC -s 65536" "send_lat -c UD -s 64" "write_bw -c RC -s 1048576 -n 8" "atomic_bw -c RC"
[ "${ALL_PROGRAMS:-no}" = no ] ||
  set -- "$@" "send_lat -c UC -s 64 -I 64" "write_lat -c UC -s 4096" "read_bw -c RC -s 65536" \
    "read_lat -c RC -s 64" "send_bw -c RC -s 4096 -e" "atomic_lat -c RC" "write_bw -c RC -s 64 -q 16" \
    "send_bw -c RC -s 4096 -b" "write_bw -c RC -s 8388608 -n 5" "read_bw -c RC -s 1" "send_bw -c UC -s 8388608 -n 5"
for run in "$@"; do
  # shellcheck disable=SC2086 # words
  case $run in
    *-n*) both_ways ib_$run -F ;;
    *) both_ways ib_$run -F -n 100 ;;
  esac
done

say "one process at a time, and a process that is killed leaves the adapter to the next one"
(exec freehca-run --device "vfio:$ours" -- ibv_rc_pingpong) >/run/server 2>&1 &
killed=$!
wait_for 60 listening || fail "the server does not listen: $(cat /run/server)"
on_ours ibv_devinfo >/run/second 2>&1 && fail "two processes have the adapter"
grep -q "another process has" /run/second || fail "the second process: $(cat /run/second)"
kill -9 $killed || fail "no ibv_rc_pingpong"
wait $killed
# The subnet manager learns of the killed process's port and of the new one's at the same time. On a
# busy machine it may configure the port during the transfer. A pingpong gives up after half a
# second; -u 20 is a timeout of 4 seconds.
cross on_ours on_linux ib_send_bw -c RC -s 4096 -u 20 -F -n 100

say "too little memory may be locked for a registration"
# Root may lock everything.
chown nobody "/dev/vfio/$(basename "$(readlink "/sys/bus/pci/devices/$ours/iommu_group")")"
prlimit --memlock=$((160 << 20)) setpriv --reuid=nobody --clear-groups --inh-caps=-all timeout 200 \
  freehca-run --device "vfio:$ours" -- ibv_rc_pingpong -s $((64 << 20)) >/run/much 2>&1
grep -q "cannot be registered.*ulimit -l" /run/much || fail "64 MiB: $(cat /run/much)"

kill $opensm_pid
wait $opensm_pid 2>/dev/null
linux_down
# The kernel says it once.
log_clean 'vfio_pin_pages_remote: RLIMIT_MEMLOCK .* exceeded' || fail "the kernel's log"
[ "$(host get complaints hca0)" = 0 ] || fail "complaints about Linux's driver"
[ "$(host get complaints hca1)" = 0 ] || fail "complaints about ours"
