#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What `./dev demo` runs in the guest, with fewer messages: the report names everything, and the
# model counted what the driver says it did.
# program: hcactl
# options: --driver vfio --env MESSAGES=4 --file tests/guest/demo.sh:/guest/demo.sh
# again: iommufd long --kernel iommufd
. /usr/lib/guest/lib.sh

sh /guest/demo.sh >/run/demo 2>&1 || { cat /run/demo; fail "the demo"; }
cat /run/demo
for line in 'adapter .*15b3:1007' 'firmware .*[0-9]\.[0-9]' 'GUIDs .*node [0-9a-f:]*, system image' \
  'port 1 .*InfiniBand, Active, GUID' 'port 2 .*InfiniBand, Active, GUID' 'limits .*16777216 QPs' 'can do .*rc uc ud' \
  'commands .*[1-9][0-9]* issued' 'lent .*[1-9][0-9]* bytes to the firmware, [1-9][0-9]* auxiliary, [1-9][0-9]* context'; do
  grep -q "^$line" /run/demo || fail "the report has no line '$line'"
done
# Three kinds, ten sizes.
verified=$(awk '$1 == "send" || $1 == "RDMA" { sum += $NF; lines++ } END { print lines + 0, sum + 0 }' /run/demo)
[ "$verified" = "30 $((30 * MESSAGES))" ] || fail "lines and messages that were verified: $verified"
# At MTU 4096: 0 1 63 64 65 4095 4096 are one packet each, 4097 two, 64 KiB 16, 1 MiB 256.
packets=$((281 * MESSAGES))
for count in "rc_send_packets $packets" "rc_write_packets $packets" "rc_read_requests $((10 * MESSAGES))" \
  "rc_read_responses $packets"; do
  number=${count#* }
  grep -q "^ *${count% *}: driver $number, model $number\$" /run/demo || fail "not counted: $count"
done

# hcactl's own reports name the same, in both forms.
hca=$(hca_address)
# Without --reset nothing reaches the adapter.
commands=$(host get commands hca0)
hcactl info "$hca" >/run/text || fail "hcactl info: status $?"
grep -q "^usable .* hcactl info $hca --reset\$" /run/text || fail "hcactl info: $(cat /run/text)"
[ "$(host get commands hca0)" = "$commands" ] || fail "hcactl info gave the adapter commands"
for command in "info --reset" up; do
  # shellcheck disable=SC2086 # a command and its option
  hcactl $command "$hca" >/run/text || fail "hcactl $command: status $?"
  # shellcheck disable=SC2086
  hcactl --json $command "$hca" >/run/json || fail "hcactl --json $command: status $?"
  grep -q '^limits .*16777216 QPs' /run/text || fail "hcactl $command names no limits: $(cat /run/text)"
  grep -q '^can do .*rc uc ud xrc' /run/text || fail "hcactl $command names no flags: $(cat /run/text)"
  grep -q '"qps": 16777216' /run/json || fail "hcactl --json $command names no limits: $(cat /run/json)"
  grep -q '"xrc"' /run/json || fail "hcactl --json $command names no flags: $(cat /run/json)"
done
