#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The limit of locked memory: the number of bytes that the message names is enough, and a page less
# is not.
# program: hcactl
# options: --driver vfio
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh

# limited BYTES COMMAND...: as root without CAP_IPC_LOCK, which has to keep the limit.
limited() {
  limited_bytes=$1
  shift
  setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock prlimit --memlock="$limited_bytes" "$@"
}

hca=$(hca_address) || fail "no adapter"
log_mark
for command in "up $hca" "ping $hca --messages 2" "reset $hca"; do
  # shellcheck disable=SC2086 # the words are meant to be split
  refused 17 'bytes of memory must be locked' limited 65536 hcactl $command
  bytes=$(sed -n 's/.*hcactl: \([0-9]*\) bytes of memory must be locked.*/\1/p' /run/output)
  kilobytes=$(sed -n 's/.*ulimit -l \([0-9]*\) .*/\1/p' /run/output)
  [ "$((kilobytes * 1024))" -ge "$bytes" ] || fail "$kilobytes KiB are less than $bytes bytes"
  # shellcheck disable=SC2086
  limited "$bytes" hcactl $command >/run/output 2>&1 || fail "$command with $bytes bytes: $(cat /run/output)"
  # shellcheck disable=SC2086
  refused 17 "$bytes bytes" limited "$((bytes - 4096))" hcactl $command
done
linux_works
log_clean || fail "the kernel's log"
no_complaints
