#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Two processes that want one adapter at the same moment: one gets it, the other says that it is in
# use and by whom to find that out; the first does not notice.
# program: hcactl
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
# options: --device mlx4,flr=on,addr=8 -- -device mlx4,flr=off,addr=9,id=hca1
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh

# runner NUMBER: its exit status, or nothing while it runs, is in /run/status-NUMBER.
runner() {
  rm -f "/run/status-$1"
  {
    runner_status=0
    hcactl ping "$hca" --messages 5 >"/run/output-$1" 2>&1 || runner_status=$?
    echo $runner_status >"/run/status-$1"
  } &
}

log_mark
for hca in 0000:00:08.0 0000:00:09.0; do
  bind_vfio $hca || fail "vfio-pci does not take $hca"
  for round in 1 2 3 4 5; do
    runner 1
    runner 2
    wait
    case "$(cat /run/status-1) $(cat /run/status-2)" in
      '0 18') loser=2 ;;
      '18 0') loser=1 ;;
      *) fail "round $round: $(cat /run/status-1 /run/status-2 /run/output-1 /run/output-2)" ;;
    esac
    grep -q 'another process' "/run/output-$loser" || fail "round $round: $(cat "/run/output-$loser")"
    say "$hca, round $round: process $loser says: $(cat "/run/output-$loser")"
  done
done
linux_works 0000:00:08.0 0000:00:09.0
log_clean || fail "the kernel's log"
no_complaints
