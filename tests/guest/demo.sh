#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What `./dev demo` runs in the guest, with the adapter bound to vfio-pci: our driver's own report,
# and whether the model counted the packets that the driver's messages must have made.
. /usr/lib/guest/lib.sh
log_mark

packet_names="rc_send_packets rc_write_packets rc_read_requests rc_read_responses"
for name in $packet_names; do host get "$name" >"/run/before-$name" || fail "the model's counter $name"; done

hcactl ping "$(hca_address)" --messages "${MESSAGES:-300}" >/run/report || { cat /run/report; fail "hcactl ping"; }
cat /run/report

# "... packets at MTU 4096: 1405 send, 1405 write, 50 read requests, 1405 read responses"
# shellcheck disable=SC2046 # the numbers are meant to be split
set -- $(sed -n 's/.*packets at MTU [0-9]*: \([0-9]*\) send, \([0-9]*\) write, \([0-9]*\) read requests, \([0-9]*\) .*/\1 \2 \3 \4/p' /run/report)
[ $# = 4 ] || fail "the report names no packets"
echo counts
for name in $packet_names; do
  model=$(($(host get "$name") - $(cat "/run/before-$name")))
  echo "           $name: driver $1, model $model"
  [ "$1" = "$model" ] || fail "$name differ"
  shift
done

complaints=$(host get complaints) || fail "the complaint counter cannot be read"
[ "$complaints" = 0 ] || fail "the model had $complaints complaints"
log_clean || fail "the kernel's log is not clean"
echo "           complaints of the model: $complaints; the kernel's log is clean"
