#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests on an InfiniBand switch: Debian's pingpongs and perftest on our driver over VFIO in
# host 1, and on Linux's mlx4_ib in host 2, in both directions. OpenSM manages the fabric from
# host 2. The rows have each service and each opcode that these programs have. perftest's multicast
# is left out: it joins its groups by libibumad, which our library does not answer.
# program: freehca-run freehca-switch
# needs: build/host/ibverbs/libfreehca-verbs-vfio.so
# options: --hosts 2 --switch ib --lan --memory 1G
# options: --file build/host/ibverbs/libfreehca-verbs-vfio.so:/usr/lib/freehca/libfreehca-verbs-vfio.so
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/peers_over_vfio.sh:/guest/peers_over_vfio.sh
# tier: long
# timeout: 3600
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/peers_over_vfio.sh
. /guest/peers_over_vfio.sh

log_mark
lan_up
if [ "$HOST_INDEX" = 1 ]; then
  vfio_up
else
  modprobe mlx4_core && modprobe mlx4_ib && modprobe ib_uverbs && modprobe ib_umad || fail "modprobe"
  wait_for 10 [ -e /sys/class/infiniband/mlx4_0 ] || fail "no device mlx4_0"
  printf 'sweep_interval 1\n' >/run/opensm.conf
  mkdir -p /run/opensm-cache
  OSM_CACHE_DIR=/run/opensm-cache opensm -F /run/opensm.conf -f /run/opensm.log >/run/opensm.out 2>&1 &
  opensm_pid=$!
  wait_for 60 port_active mlx4_0 1 || fail "port 1 is not active: $(ibstat mlx4_0 1; cat /run/opensm.out)"
fi
host sync "both are ready"

# -u 20 is a timeout of 4 seconds: OpenSM may configure the new port during the transfer.
every_row <<END
ibv_rc_pingpong -n 10 -c
ibv_uc_pingpong -n 10 -c
ibv_ud_pingpong -n 10 -c
ibv_srq_pingpong -n 32 -c
ibv_xsrq_pingpong -n 10
ibv_rc_pingpong -n 10 -c -e
ibv_rc_pingpong -n 10 -c -t
ib_send_bw -c RC -s 65536 -n 8 -F -u 20
ib_send_bw -c UC -s 65536 -n 8 -F
ib_send_bw -c UD -s 2048 -n 8 -F
ib_send_bw -c XRC -s 65536 -n 8 -F -u 20
ib_write_bw -c RC -s 65536 -n 8 -F -u 20
ib_write_bw -c UC -s 65536 -n 8 -F
ib_write_bw -c XRC -s 65536 -n 8 -F -u 20
ib_read_bw -c RC -s 65536 -n 8 -F -u 20
ib_read_bw -c XRC -s 65536 -n 8 -F -u 20
ib_atomic_bw -c RC -A FETCH_AND_ADD -n 8 -F -u 20
ib_atomic_bw -c RC -A CMP_AND_SWAP -n 8 -F -u 20
ib_atomic_bw -c XRC -A FETCH_AND_ADD -n 8 -F -u 20
ib_atomic_bw -c XRC -A CMP_AND_SWAP -n 8 -F -u 20
ib_send_lat -c RC -s 64 -I 64 -n 8 -F -u 20
ib_write_lat -c UC -s 64 -I 64 -n 8 -F
ib_read_lat -c RC -s 64 -n 8 -F -u 20
ib_atomic_lat -c RC -A FETCH_AND_ADD -n 8 -F -u 20
ib_send_bw -c RC --use-srq -s 4096 -n 8 -F -u 20
ib_send_bw -c RC -e -s 4096 -n 8 -F -u 20
ib_send_bw -c RC -b -s 4096 -n 8 -F -u 20
ib_write_bw -c RC -q 8 -s 4096 -n 8 -F -u 20
ib_write_bw -c RC -s 8388608 -n 5 -F -u 20
ib_read_bw -c RC -s 8388608 -n 5 -F -u 20
END
rows_done

if [ "$HOST_INDEX" = 2 ]; then
  kill "$opensm_pid"
  wait "$opensm_pid" 2>/dev/null
  linux_down
fi
log_clean || fail "the kernel's log"
no_complaints
