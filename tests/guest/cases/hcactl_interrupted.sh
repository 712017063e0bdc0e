#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# SIGINT at many moments of bring-up and of traffic, on a card that resets its function and on one that does not:
# each time the adapter is given back, and works.
# mostly: waits
# program: hcactl
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
# options: --device mlx4,flr=off,addr=8 -- -device mlx4,flr=on,addr=9,id=hca1
# timeout: 400
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh

# interrupted SECONDS COMMAND...: given back, or done before the signal came; counts the former.
interrupted() {
  signalled INT "$@"
  case $signalled_status in
    0) say "$*: done before" ;;
    130) interruptions=$((interruptions + 1)) ;;
    *) fail "$*: status $signalled_status: $(cat /run/signalled)" ;;
  esac
  works "an interruption ($*)"
}

log_mark
for hca in 0000:00:08.0 0000:00:09.0; do
  bind_vfio $hca || fail "vfio-pci does not take $hca"
  interruptions=0
  # A command that takes this long makes bring-up, with its hundred commands, last for seconds.
  device=hca0
  [ $hca = 0000:00:08.0 ] || device=hca1
  host set x-fault-command-latency 20000000 $device || fail "the fault cannot be set"
  for delay in 0.2 0.5 0.8 1.1 1.5 2; do interrupted $delay hcactl up $hca; done
  host set x-fault-command-latency 0 $device
  for delay in 2 2.7 3.5; do interrupted $delay hcactl ping $hca --messages 100000; done
  # Traffic of this length is always met.
  [ $interruptions -ge 3 ] || fail "$hca: only $interruptions interruptions"
  say "$hca: $interruptions interruptions"
done
linux_works 0000:00:08.0 0000:00:09.0
log_clean || fail "the kernel's log"
no_complaints
