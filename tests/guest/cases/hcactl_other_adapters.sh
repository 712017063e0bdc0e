#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Adapters that hcactl does not drive: firmware that is too old, or newer than it, and cards of the
# generation before and of the next. Each has its message and exit code. Linux's own driver refuses
# the newer firmware too.
# program: hcactl
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
# options: --virtual-time --device mlx4,x-command-interface=2,addr=8
# options: -- -device mlx4,x-command-interface=4,addr=9,id=newer -device mlx4,x-device-id=0x1013,addr=a,id=next
# options: -device mlx4,x-device-id=0x6278,addr=b,id=before
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh

old=0000:00:08.0 newer=0000:00:09.0 next=0000:00:0a.0 before=0000:00:0b.0
log_mark
for address in $old $newer $next $before; do
  bind_vfio "$address" || fail "vfio-pci does not take $address"
done

# shellcheck disable=SC2086 # a command may have an option
for command in up "info --reset" ping; do
  refused 20 "QUERY_FW: .*has revision 2 of the command interface, .*too old; burn a newer one" hcactl $command $old
  refused 20 "QUERY_FW: .*has revision 4 of the command interface, .*newer; look for a newer" hcactl $command $newer
  refused 12 "15b3:1013, which is no ConnectX-2, ConnectX-3" hcactl $command $next
  refused 12 "15b3:6278, which is no ConnectX-2, ConnectX-3" hcactl $command $before
done
hcactl list >/run/list || fail "hcactl list"
grep -q $old /run/list && grep -q $newer /run/list || fail "hcactl list: $(cat /run/list)"
! grep -q -e $next -e $before /run/list || fail "hcactl list has another generation: $(cat /run/list)"
for name in hca0 newer next before; do
  [ "$(host get complaints $name)" = 0 ] || fail "the model complains of what was done to $name"
done
for name in next before; do
  [ "$(host get commands $name)" = 0 ] || fail "the card of another generation got commands"
done
log_clean || fail "the kernel's log"

echo $newer >/sys/bus/pci/drivers/vfio-pci/unbind || fail "vfio-pci does not let go of $newer"
modprobe mlx4_core || fail "modprobe mlx4_core"
dmesg | grep "unsupported command interface revision 4" || fail "Linux takes it: $(dmesg | tail -n 20)"
