#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Several threads of one program share an adapter over VFIO, each with an event queue, an interrupt
# vector and objects of its own; they go on after each reset that the program makes.
# program: hcactl
# options: --driver vfio --smp 4
. /usr/lib/guest/lib.sh
log_mark
hca=$(hca_address) || fail "no adapter"

# moved RESETS ENDED: four threads are in the report, each with messages, so many resets, and so
# many requests (a pattern) that the resets ended.
moved() {
  cat /run/threads
  owners=$(grep -c '"name": "owner [0-3]"' /run/threads)
  [ "$owners" = 4 ] || fail "$owners threads in the report"
  resets=$(grep -c "\"resets\": $1,\{0,1\}\$" /run/threads)
  [ "$resets" = 4 ] || fail "$resets threads have begun anew $1 times"
  moving=$(grep -c '"messages": [1-9][0-9]*,\{0,1\}$' /run/threads)
  [ "$moving" = 4 ] || fail "$moving threads have moved something"
  ending=$(grep -c "\"requests_ended_by_resets\": $2,\{0,1\}\$" /run/threads)
  [ "$ending" = 4 ] || fail "the resets ended $2 requests of $ending threads"
}
# traffic OPTIONS...: hcactl ping by four threads; the report goes to /run/report.
traffic() {
  say "$@"
  hcactl ping "$hca" --json --threads 4 "$@" >/run/document ||
    { cat /run/document; fail "hcactl ping --threads 4 $*"; }
  sed -n '/^  "threads": \[/,$p' /run/document >/run/threads
}

traffic --seconds 10
moved 0 0
traffic --seconds 20 --recover 3
moved 3 '[1-9][0-9]*'

say "SIGINT"
hcactl ping "$hca" --threads 4 --seconds 60 >/run/first 2>&1 &
first=$!
sleep 5
kill -INT $first
first_status=0
wait $first || first_status=$?
[ $first_status = 130 ] || fail "interrupted: status $first_status: $(cat /run/first)"
# A program that dies of the signal has the same status in a shell, and gives nothing back.
grep -q 'interrupted; .* was given back' /run/first ||
  fail "interrupted, without a word: $(cat /run/first)"
hcactl ping "$hca" --threads 2 --messages 40 || fail "a number of messages"
complaints=$(host get complaints) || fail "the complaint counter cannot be read"
[ "$complaints" = 0 ] || fail "the model had $complaints complaints"
log_clean || fail "the kernel's log"
