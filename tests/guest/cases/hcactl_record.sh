#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# hcactl records the modelled adapter over VFIO; on the host the recording replays with no
# difference. Bad input is refused before the adapter is touched, and an interrupted run leaves a
# whole recording of what there was.
# program: hcactl hcactl-record
# options: --driver vfio -- -serial file:FILE
# then: tests/guest/replay_recording.sh FILE
# again: flr_off long --device mlx4,flr=off
. /usr/lib/guest/lib.sh
log_mark
hca=$(hca_address)

say "a file that cannot be written"
hcactl record "$hca" /no/such/folder/file >/run/out 2>&1
[ $? = 25 ] || fail "status: $(cat /run/out)"
grep -q "/no/such/folder/file cannot be written" /run/out || fail "message: $(cat /run/out)"
hcactl record 03:00 /run/file >/run/out 2>&1
[ $? = 10 ] || fail "a bad address: $(cat /run/out)"

say "a recording"
hcactl record "$hca" /run/recording.jsonl --label "the test guest" >/run/out || fail "hcactl record: status $?: $(cat /run/out)"
cat /run/out
grep -q 'payload is left out' /run/out || fail "it does not say what comes"
grep -q '^recorded .*traffic by port 1' /run/out || fail "no traffic"
tail -n 1 /run/recording.jsonl | grep -q '^{"end":' || fail "the recording has no end"
grep -q '"of":"card","by":"driver"' /run/recording.jsonl || fail "no header"
# What all its GUIDs and MAC addresses have, either way round.
for identity in 2c90300f0c f00003c90200 0002c9f0c 'c[9a]f0c90200'; do
  ! grep -qi "$identity" /run/recording.jsonl || fail "$identity is in the recording"
done

say "with everything that names the card, and as JSON"
hcactl --json record "$hca" /run/kept.jsonl --keep-identity --messages 1 >/run/out || fail "status $?: $(cat /run/out)"
grep -q '"identity_kept": true' /run/out || fail "$(cat /run/out)"
grep -qi 0002c90300f0c /run/kept.jsonl || fail "the identity was replaced"

say "interrupted"
hcactl record "$hca" /run/cut.jsonl --messages 1000 >/run/out 2>&1 &
recording=$!
wait_for 30 grep -q '^record ' /run/out || fail "it does not begin: $(cat /run/out)"
sleep 3
kill -INT $recording
wait $recording
[ $? = 130 ] || fail "an interrupted run: $(cat /run/out)"
tail -n 1 /run/cut.jsonl | grep -q '^{"end":' || fail "an interrupted run leaves no whole recording"

complaints=$(host get complaints) || fail "the complaint counter cannot be read"
[ "$complaints" = 0 ] || fail "the model had $complaints complaints"
log_clean || fail "the kernel's log"
stty -F /dev/ttyS3 raw -echo || fail "there is no fourth serial line"
gzip -c /run/recording.jsonl >/dev/ttyS3 || fail "the recording does not get out"
