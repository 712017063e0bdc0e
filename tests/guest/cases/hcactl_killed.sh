#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# SIGKILL in the middle of traffic, on a card that resets its function and on one that does not: the next owner gets
# it, after hcactl reset where the dead one's semaphore is still held.
# program: hcactl
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
# options: --device mlx4,flr=on,addr=8 -- -device mlx4,flr=off,addr=9,id=hca1
# timeout: 300
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh

# The model complains of what its orphaned event queues would do, as their context went with the process.
log_mark
for hca in 0000:00:08.0 0000:00:09.0; do
  bind_vfio $hca || fail "vfio-pci does not take $hca"
  for delay in 0.3 1.5 2.2 3 4; do
    signalled KILL $delay hcactl ping $hca --messages 100000
    [ $signalled_status = 137 ] || fail "killed: status $signalled_status: $(cat /run/signalled)"
    if [ $hca = 0000:00:09.0 ]; then
      # Before it took the semaphore nobody held it.
      status=0
      hcactl up $hca >/run/output 2>&1 || status=$?
      [ $status = 0 ] || [ $status = 19 ] || fail "after SIGKILL: status $status: $(cat /run/output)"
      [ $status = 0 ] || hcactl reset $hca || fail "hcactl reset: status $?"
    fi
    works "SIGKILL at $delay s"
    say "$hca: well after SIGKILL at $delay s"
  done
done
linux_works 0000:00:08.0 0000:00:09.0
log_clean || fail "the kernel's log"
