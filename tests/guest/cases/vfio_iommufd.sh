#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Both doors of VFIO on a kernel that has both: iommufd is taken where it is permitted, the group
# where it is not or is named. By each: traffic, a reset, SIGKILL, and the message to a second
# process. The limit of locked memory, and huge pages.
# program: hcactl
# tier: long
# options: --kernel iommufd --driver vfio
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
# mostly: waits
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh
hca=$(hca_address) || fail "no adapter"
group=$(basename "$(readlink "/sys/bus/pci/devices/$hca/iommu_group")")
node=$(ls -d "/sys/bus/pci/devices/$hca/vfio-dev/"vfio*) || fail "no character device"
node=/dev/vfio/devices/$(basename "$node")
log_mark

# door_is NAME FILE [OPTIONS...]: what hcactl info and list say.
door_is() {
  door_words="door .*$1, $2\$"
  shift 2
  hcactl info "$hca" "$@" >/run/info || fail "hcactl info: status $?"
  grep -q "^$door_words" /run/info || fail "not '$door_words': $(cat /run/info)"
  hcactl list "$@" >/run/list || fail "hcactl list: status $?"
  grep -q "$door_words" /run/list || fail "not '$door_words': $(cat /run/list)"
}
door_is iommufd "$node"
door_is group "/dev/vfio/$group" --door group
# Another user may open what root gives away.
as_user() {
  setpriv --reuid 1000 --clear-groups --bounding-set -all --inh-caps -all \
    prlimit --memlock=unlimited "$@"
}
prlimit --pid $$ --memlock=unlimited:unlimited
refused 16 'chown' as_user hcactl up "$hca"
refused 16 'or iommufd' as_user hcactl up "$hca"
chmod 666 "$node" /dev/iommu
as_user hcactl up "$hca" >/run/output 2>&1 || fail "iommufd alone is permitted: $(cat /run/output)"
chmod 600 "$node" && chmod 666 /dev/vfio/vfio "/dev/vfio/$group"
as_user hcactl up "$hca" >/run/output 2>&1 ||
  fail "the group alone is permitted: $(cat /run/output)"

for door in iommufd group; do
  hcactl --door $door ping "$hca" --messages 20 >/run/output 2>&1 ||
    fail "$door: traffic: $(cat /run/output)"
  hcactl --door $door reset "$hca" >/run/output 2>&1 || fail "$door: reset: $(cat /run/output)"
  hcactl --door $door ping "$hca" --threads 2 --messages 20 >/run/output 2>&1 ||
    fail "$door: threads: $(cat /run/output)"
  # Its memory is unmapped when it is killed, while the adapter writes there.
  hcactl --door $door ping "$hca" --messages 100000 >/run/killed 2>&1 &
  victim=$!
  sleep 4
  kill -KILL $victim 2>/dev/null || fail "$door: endless traffic is over: $(cat /run/killed)"
  wait $victim
  works "SIGKILL by $door"
  # While one has it, the other door is shut too.
  : >/run/held # what stands there is of the other door
  hcactl --door $door up "$hca" --hold >/run/held 2>&1 &
  holder=$!
  wait_for 30 grep -q '^held' /run/held || fail "$door: hcactl up --hold: $(cat /run/held)"
  refused 18 fuser hcactl up "$hca" --door iommufd
  refused 18 fuser hcactl up "$hca" --door group
  hcactl info "$hca" >/run/info || fail "hcactl info: status $?"
  grep -q fuser /run/info || fail "hcactl info does not see the other process: $(cat /run/info)"
  kill -INT $holder
  wait $holder || fail "$door: hcactl up --hold ended with status $?: $(cat /run/held)"
  say "well by $door"
done

# As root without CAP_IPC_LOCK, which has to keep the limit.
limited() {
  limited_bytes=$1
  shift
  setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock prlimit --memlock="$limited_bytes" "$@"
}
refused 17 'iommufd counts' limited 65536 hcactl up "$hca"
bytes=$(sed -n 's/.*hcactl: \([0-9]*\) bytes of memory must be locked.*/\1/p' /run/output)
limited "$bytes" hcactl up "$hca" >/run/output 2>&1 ||
  fail "up with $bytes bytes: $(cat /run/output)"

hcactl --pages advised up "$hca" >/run/output 2>&1 || fail "advised pages: $(cat /run/output)"
# reserve_named: as the message says.
reserve_named() { sed -n 's/.*reserve them: \(echo .*nr_hugepages\).*/\1/p' /run/output | sh; }
refused 25 nr_hugepages hcactl --pages huge up "$hca"
reserve_named
hcactl --pages huge up "$hca" >/run/output 2>&1 || fail "huge pages: $(cat /run/output)"
# The traffic has blocks of its own. Each refusal names the pages of one block.
refusals=0
until hcactl --pages huge ping "$hca" --messages 4 >/run/output 2>&1; do
  refusals=$((refusals + 1))
  grep -q nr_hugepages /run/output && [ $refusals -le 4 ] || fail "huge pages: $(cat /run/output)"
  reserve_named
done
[ $refusals -gt 0 ] || fail "the traffic has no huge pages"
for door in iommufd group; do
  hcactl --door $door --pages huge ping "$hca" --messages 4 >/run/output 2>&1 ||
    fail "$door: huge pages: $(cat /run/output)"
done
echo 0 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
[ "$(cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages)" = 0 ] ||
  fail "huge pages are left"

! dmesg | grep -q 'DMAR: \[DMA' || fail "the adapter reached for memory that it does not have"
log_clean || fail "the kernel's log"
complaints=$(host get complaints) || fail "the complaint counter cannot be read"
[ "$complaints" = 0 ] || fail "the model had $complaints complaints"
