#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Linux's own driver, OpenSM and rdma-core's ibv_rc_pingpong and ibv_ud_pingpong, as server and as
# client, and at the other end of the cable a machine without an operating system. Its serial line
# is the host's to read and to type at; what it prints goes to the program by TCP, and back.
# options: --memory 768M --bare x86_64
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_two_hosts.sh:/guest/linux_two_hosts.sh
# needs: build/bare-x86_64/images/pingpong_pair.elf
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_two_hosts.sh
. /guest/linux_two_hosts.sh

# What the programs write and read of each other's addresses, with a zero byte at the end.
address_bytes=52

address_came() { [ "$(wc -c </run/there)" = $address_bytes ]; }

# join NC_ARGUMENTS...: a TCP connection, which gets what is written to file 3; /run/there has what
# comes.
join() {
  rm -f /run/to
  mkfifo /run/to
  nc "$@" </run/to >/run/there &
  exec 3>/run/to
}

# their_address: the program's, without the zero byte.
their_address() {
  wait_for 20 address_came || fail "no address: $(od -c /run/there)"
  tr -d '\000' </run/there
}

# ended SERVICE SIZE: both sides are done, and say so.
ended() {
  wait "$program" || fail "ibv_$1_pingpong: $(cat /run/program)"
  exec 3>&-
  grep -q "^1000 iters in " /run/program || fail "ibv_$1_pingpong: $(cat /run/program)"
  grep "^1000 iters in " /run/program
  host bare until "^(RC|UD) +1000 messages of $2 bytes each way verified" || fail "the bare machine, $1"
}

# linux_serves SERVICE SIZE, linux_asks SERVICE SIZE: the sizes are what the programs send when
# nothing is said.
linux_serves() {
  say "ibv_$1_pingpong is the server"
  "ibv_$1_pingpong" >/run/program 2>&1 &
  program=$!
  wait_for 20 listening || fail "ibv_$1_pingpong: is not ready: $(cat /run/program)"
  here=$(host bare address "$1") || fail "the bare machine has no address"
  join 127.0.0.1 18515
  printf '%s\000' "$here" >&3
  there=$(their_address)
  printf 'done\000' >&3
  host bare answer "client $2 1000 $there" || fail "the bare machine, $1"
  ended "$1" "$2"
}

linux_asks() {
  say "ibv_$1_pingpong is the client"
  here=$(host bare address "$1") || fail "the bare machine has no address"
  join -l -p 18515
  wait_for 20 listening || fail "nobody listens"
  "ibv_$1_pingpong" 127.0.0.1 >/run/program 2>&1 &
  program=$!
  there=$(their_address)
  host bare answer "server $2 1000 $there" || fail "the bare machine, $1"
  host bare until "^ready " || fail "the bare machine, $1"
  printf '%s\000' "$here" >&3
  ended "$1" "$2"
}

log_mark
modprobe mlx4_core && modprobe mlx4_ib && modprobe ib_uverbs && modprobe ib_umad || fail "modprobe"
wait_for 10 [ -e $device ] || fail "no device mlx4_0"
ibstat mlx4_0 1 | sed -n 's/.*Port GUID: //p' >/run/port-guid
host bare until "^freehca pingpong_pair" || fail "the bare machine does not start"
opensm_start 1
wait_for 60 port_active mlx4_0 1 || fail "port 1 is not active: $(ibstat mlx4_0 1; cat /run/opensm.out)"
for service in "rc 4096" "ud 1024"; do
  # shellcheck disable=SC2086 # words
  linux_serves $service
  # shellcheck disable=SC2086 # words
  linux_asks $service
done
host bare passed || fail "the bare machine"
opensm_stop
linux_down
log_clean || fail "the kernel's log"
no_complaints
