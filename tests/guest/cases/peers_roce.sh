#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two guests on an Ethernet switch: Debian's pingpongs and perftest on our driver over VFIO in
# host 1, and in host 2 on Linux's mlx4_ib and then on Soft-RoCE, in both directions. GIDs are
# link-local: the MAC of such a GID is in it, and a path to another GID over VFIO has no MAC.
# What a peer cannot do:
# - Soft-RoCE has no XRC and no RoCE v1 (Linux 6.1 sw/rxe/rxe_verbs.c rxe_create_srq, which takes
#   basic queues alone, and rxe_port_immutable, which has RoCE v2 alone), no timestamps. The rows
#   with mlx4_ib have all three.
# - Soft-RoCE answers a large read faster than mlx4_en's ring below the reader is refilled. The
#   timeout of such rows is short (`-u 18`: 1 second), since each loss costs one.
# - mlx4_ib has no path to a peer that answers no neighbour solicitation, without an entry in the
#   kernel's table of neighbours. The case makes that entry.
# - perftest's multicast joins its groups by libibumad, which our library does not answer.
# program: freehca-run freehca-switch
# needs: build/host/ibverbs/libfreehca-verbs-vfio.so
# options: --hosts 2 --switch eth --device mlx4,link1=eth,ports=1 --lan --memory 1G
# options: --file build/host/ibverbs/libfreehca-verbs-vfio.so:/usr/lib/freehca/libfreehca-verbs-vfio.so
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: --file tests/guest/roce_traffic.sh:/guest/roce_traffic.sh
# options: --file tests/guest/peers_over_vfio.sh:/guest/peers_over_vfio.sh
# tier: long
# timeout: 3600
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh
# shellcheck source=tests/guest/roce_traffic.sh
. /guest/roce_traffic.sh
# shellcheck source=tests/guest/peers_over_vfio.sh
. /guest/peers_over_vfio.sh

# by_gid TYPE NUMBER: rows use the link-local GID of that type. Host 1 has it with this number.
by_gid() {
  gid=$2
  [ "$HOST_INDEX" = 1 ] || find_gid "$peer_device" "$1" "^fe80:"
}

# read_by_itself BYTES: reads by Soft-RoCE from Soft-RoCE, in host 2. The case reports the result,
# to compare it with the rows.
read_by_itself() {
  if [ "$HOST_INDEX" = 2 ]; then
    set -- ib_read_bw -d rxe0 -x "$gid" -s "$1" -n 5 -F -u 18
    timeout 60 "$@" >/run/server 2>&1 &
    read_pid=$!
    wait_for 20 listening
    if timeout 60 "$@" 10.0.2.2 >/run/client 2>&1 && wait $read_pid; then
      say "Soft-RoCE alone passes: $*"
    else
      say "Soft-RoCE alone fails: $*: $(grep -v "^-*\$" /run/client | tail -n 1)"
      wait $read_pid
    fi
  fi
  host sync "Soft-RoCE alone"
}

log_mark
lan_up
if [ "$HOST_INDEX" = 1 ]; then
  vfio_up
else
  ethernet_up
  modprobe mlx4_ib && modprobe ib_uverbs || fail "modprobe mlx4_ib"
  wait_for 20 port_up mlx4_0 || fail "mlx4_0 is not active: $(ibv_devinfo -v)"
  # Linux asks the network for the MAC of a RoCE v2 path, also of a link-local one (6.1
  # core/verbs.c ib_resolve_unicast_gid_dmac). Our driver does not answer neighbour solicitations.
  ip -6 neigh replace fe80::202:c9ff:fef0:ca01 lladdr 00:02:c9:f0:ca:01 dev "$interface" \
    nud permanent || fail "the neighbour"
fi
host sync "both are ready"

# mlx4_rows: with mlx4_ib in host 2.
mlx4_rows() {
by_gid "RoCE v2" 1
every_row <<END
ibv_rc_pingpong -g GID -n 10 -c
ibv_uc_pingpong -g GID -n 10 -c
ibv_ud_pingpong -g GID -n 10 -c
ibv_srq_pingpong -g GID -n 32 -c
ibv_xsrq_pingpong -g GID -n 10
ibv_rc_pingpong -g GID -n 10 -c -e
ibv_rc_pingpong -g GID -n 10 -c -t
ib_send_bw -c RC -x GID -s 65536 -n 8 -F -u 18
ib_send_bw -c UC -x GID -s 65536 -n 8 -F
ib_send_bw -c UD -x GID -s 1024 -n 8 -F
ib_send_bw -c XRC -x GID -s 65536 -n 8 -F -u 18
ib_write_bw -c RC -x GID -s 65536 -n 8 -F -u 18
ib_write_bw -c UC -x GID -s 65536 -n 8 -F
ib_write_bw -c XRC -x GID -s 65536 -n 8 -F -u 18
ib_read_bw -c RC -x GID -s 65536 -n 8 -F -u 18
ib_read_bw -c XRC -x GID -s 65536 -n 8 -F -u 18
ib_atomic_bw -c RC -A FETCH_AND_ADD -x GID -n 8 -F -u 18
ib_atomic_bw -c RC -A CMP_AND_SWAP -x GID -n 8 -F -u 18
ib_atomic_bw -c XRC -A FETCH_AND_ADD -x GID -n 8 -F -u 18
ib_atomic_bw -c XRC -A CMP_AND_SWAP -x GID -n 8 -F -u 18
ib_send_lat -c RC -x GID -s 64 -I 64 -n 8 -F -u 18
ib_write_lat -c UC -x GID -s 64 -I 64 -n 8 -F
ib_read_lat -c RC -x GID -s 64 -n 8 -F -u 18
ib_atomic_lat -c RC -A FETCH_AND_ADD -x GID -n 8 -F -u 18
ib_send_bw -c RC --use-srq -x GID -s 4096 -n 8 -F -u 18
ib_send_bw -c RC -e -x GID -s 4096 -n 8 -F -u 18
ib_send_bw -c RC -b -x GID -s 4096 -n 8 -F -u 18
ib_write_bw -c RC -q 8 -x GID -s 4096 -n 8 -F -u 18
ib_write_bw -c RC -x GID -s 8388608 -n 5 -F -u 20
ib_read_bw -c RC -x GID -s 8388608 -n 5 -F -u 20
END
by_gid "IB/RoCE v1" 0
every_row <<END
ibv_rc_pingpong -g GID -n 10 -c
ibv_uc_pingpong -g GID -n 10 -c
ibv_ud_pingpong -g GID -n 10 -c
ib_read_bw -c RC -x GID -s 65536 -n 8 -F -u 18
ib_write_bw -c XRC -x GID -s 65536 -n 8 -F -u 18
END
}

# rxe_rows: with Soft-RoCE in host 2.
rxe_rows() {
if [ "$HOST_INDEX" = 2 ]; then
  soft_roce_up
fi
peer_device=rxe0
host sync "Soft-RoCE"
by_gid "RoCE v2" 1
for bytes in 65536 1048576 8388608; do read_by_itself $bytes; done
every_row <<END
ibv_rc_pingpong -g GID -n 10 -c
ibv_uc_pingpong -g GID -n 10 -c
ibv_ud_pingpong -g GID -n 10 -c
ibv_srq_pingpong -g GID -n 32 -c
ibv_rc_pingpong -g GID -n 10 -c -e
ib_read_bw -c RC -x GID -s 65536 -n 8 -F -u 18
ib_read_bw -c RC -x GID -s 1048576 -n 5 -F -u 18
ib_read_bw -c RC -x GID -s 2097152 -n 5 -F -u 18
ib_read_bw -c RC -x GID -s 4194304 -n 5 -F -u 18
ib_read_bw -c RC -x GID -s 8388608 -n 5 -F -u 18
ib_atomic_bw -c RC -A FETCH_AND_ADD -x GID -n 8 -F -u 18
ib_atomic_bw -c RC -A CMP_AND_SWAP -x GID -n 8 -F -u 18
ib_write_bw -c RC -x GID -s 65536 -n 8 -F -u 18
ib_write_bw -c UC -x GID -s 65536 -n 8 -F
ib_send_bw -c RC -x GID -s 65536 -n 8 -F -u 18
ib_send_bw -c UC -x GID -s 65536 -n 8 -F
ib_send_bw -c UD -x GID -s 1024 -n 8 -F
ib_send_bw -c RC --use-srq -x GID -s 4096 -n 8 -F -u 18
END
if [ "$HOST_INDEX" = 2 ]; then
  rdma link delete rxe0 && modprobe -r rdma_rxe || fail "rxe0 does not go"
fi
}

# PEER (--env): mlx4_ib or rxe alone.
[ "${PEER:-}" = rxe ] || mlx4_rows
[ "${PEER:-}" = mlx4_ib ] || rxe_rows
rows_done
[ "$HOST_INDEX" = 1 ] || ethernet_down
log_clean || fail "the kernel's log"
no_complaints
