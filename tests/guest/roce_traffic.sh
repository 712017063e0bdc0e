# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: RoCE between two guests with Linux's own drivers. Needs linux_traffic.sh,
# linux_ipoib.sh, linux_two_hosts.sh and ethernet_traffic.sh. Put into the guest with
#   # options: --file tests/guest/roce_traffic.sh:/guest/roce_traffic.sh
# shellcheck disable=SC2154 # from linux_two_hosts.sh: other

# ipv4_gid ADDRESS: the pattern of the GID that the kernel makes of it.
# shellcheck disable=SC2046,SC2183 # four words
ipv4_gid() { printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' $(echo "$1" | tr . ' '); }

# neighbour ADDRESS [INTERFACE]: it is known, and stays so. Traffic of RDMA does not tell the kernel
# that a neighbour is there, and when a queue pair is connected the kernel has one second to find
# it.
neighbour() {
  neighbour_of=${2:-$interface}
  ping_far "$1" "the other host"
  link_address=$(ip neigh show "$1" dev "$neighbour_of" | sed -n 's/.*lladdr \([0-9a-f:]*\).*/\1/p')
  ip neigh replace "$1" lladdr "$link_address" dev "$neighbour_of" nud permanent || fail "neighbour $1"
}

# soft_roce_up: Soft-RoCE on `interface`, as rxe0, in the place of mlx4_ib.
soft_roce_up() {
  modprobe -r mlx4_ib || fail "modprobe -r mlx4_ib"
  modprobe rdma_rxe && rdma link add rxe0 type rxe netdev "$interface" || fail "rxe0"
  wait_for 20 port_up rxe0 || fail "rxe0 is not active"
}

# find_gid DEVICE TYPE PATTERN: sets `gid` to its number.
find_gid() {
  wait_for 20 gid_index "$1" 1 "$2" "$3" || fail "$1 has no GID $3, $2"
  gid=$(gid_index "$1" 1 "$2" "$3")
  say "$1, $2, GID $gid: $(cat "/sys/class/infiniband/$1/ports/1/gids/$gid")"
}

# with_gid DEVICE TYPE PATTERN SERVICES RUNS [LEVEL]: the list of RDMA by that GID, with that
# service level.
with_gid() {
  find_gid "$1" "$2" "$3"
  level=${6:-0}
  for service in $4; do
    case $service in
      xsrq) pair ibv_xsrq_pingpong -d "$1" -g "$gid" -l "$level" -n 100 ;;
      *) pair "ibv_${service}_pingpong" -d "$1" -g "$gid" -l "$level" -n 100 -c ;;
    esac
  done
  for run in $5; do
    case $run in
      send_bw_UD) pair ib_send_bw -c UD -d "$1" -x "$gid" -S "$level" -F -s 512 -n 100 ;;
      write_bw_UC) pair ib_write_bw -c UC -d "$1" -x "$gid" -S "$level" -F -s 65536 -n 40 ;;
      atomic_bw) pair ib_atomic_bw -d "$1" -x "$gid" -S "$level" -F -n 100 ;;
      *) pair "ib_$run" -d "$1" -x "$gid" -S "$level" -F -s 65536 -n 40 ;;
    esac
  done
}

# connect PATTERN SERVER... -- CLIENT...: both end well, and the client's output has the pattern.
connect() {
  connect_pattern=$1
  shift
  both "$@" || fail "$*: $(cat /run/server /run/client)"
  [ "$HOST_INDEX" = 1 ] || grep -q -- "$connect_pattern" /run/client || fail "$*: $(cat /run/client)"
  say "$*"
}

# There is no subnet to know the group 224.0.1.5: this host's own table of IGMP has it.
mckey_joined() { grep -q 050100E0 /proc/net/igmp; }

port_up() { grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"; }

# roce_up [MTU]: both hosts' port is active, with the addresses 10.0.1.HOST_INDEX and
# fd00:1::HOST_INDEX, and each knows the other's.
roce_up() {
  # libmlx4 gives a datagram the number that the kernel's table has for a GID, and mlx4_ib's own
  # table leaves out what is there twice, as the address of the link can be: without one both agree.
  echo 1 >/proc/sys/net/ipv6/conf/default/addr_gen_mode || fail "addr_gen_mode"
  ethernet_up
  ip link set "$interface" mtu "${1:-1500}" && wait_for 20 has_carrier "$interface" || fail "MTU $1"
  modprobe mlx4_ib && modprobe ib_uverbs && modprobe rdma_ucm || fail "modprobe mlx4_ib"
  wait_for 20 port_up mlx4_0 || fail "mlx4_0 is not active: $(ibv_devinfo -v)"
  roce_addresses "$interface" 1
}

# roce_addresses INTERFACE NETWORK: it has 10.0.NETWORK.HOST_INDEX and fd00:NETWORK::HOST_INDEX, and
# knows the other host's.
roce_addresses() {
  ip addr add "10.0.$2.$HOST_INDEX/24" dev "$1" && ip -6 addr add "fd00:$2::$HOST_INDEX/64" dev "$1" nodad ||
    fail "$1: addresses"
  host sync "addresses $2"
  neighbour "10.0.$2.$other" "$1"
  neighbour "fd00:$2::$other" "$1"
  host sync "neighbours $2"
}
