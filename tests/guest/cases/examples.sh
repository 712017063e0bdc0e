#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Examples over VFIO that need one adapter: a program with a loop of its own sleeps while there is
# nothing to do, and one that sends commands of its own prints what the firmware says.
# program: event_loop raw_command counting many_tasks many_threads
# options: --driver vfio
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

# ticks PID: of the processor that the process has had, a hundred a second.
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

hca=$(hca_address) || fail "no adapter"
log_mark
mkfifo /run/input
event_loop "$hca" </run/input >/run/output 2>&1 &
pid=$!
exec 3>/run/input
head -c 9000 /dev/urandom >&3
sleep 5
before=$(ticks $pid) || fail "it has ended: $(cat /run/output)"
sleep 3
after=$(ticks $pid) || fail "it has ended: $(cat /run/output)"
say "$((after - before)) ticks of 300 while idle, $before before"
[ $((after - before)) -lt 60 ] || fail "it does not sleep"
echo "and this" >&3
exec 3>&-
wait $pid || fail "event_loop: $(cat /run/output)"
[ "$(cat /run/output)" = "9009 bytes: ok" ] || fail "event_loop: $(cat /run/output)"

raw_command "$hca" >/run/output 2>&1 || fail "raw_command: $(cat /run/output)"
cat /run/output
[ "$(cat /run/output)" = "firmware 2.42.5700, command interface 3
takes 1024 pages of memory and 16 commands at a time
node description 'MT4103 ConnectX3Pro Mellanox Technologies'" ] || fail "raw_command: $(cat /run/output)"

counting "$hca" >/run/output 2>&1 || fail "counting: $(cat /run/output)"
[ "$(cat /run/output)" = "1000 writes: ok" ] || fail "counting: $(cat /run/output)"
many_tasks "$hca" >/run/output 2>&1 || fail "many_tasks: $(cat /run/output)"
[ "$(sort -u /run/output)" = "409600 bytes" ] || fail "many_tasks: $(cat /run/output)"
many_threads "$hca" >/run/output 2>&1 || fail "many_threads: $(cat /run/output)"
[ "$(sort -u /run/output)" = "500 writes: ok" ] || fail "many_threads: $(cat /run/output)"
log_clean || fail "the kernel's log"
no_complaints
