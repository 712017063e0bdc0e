#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Linux's NVMe over Fabrics, both ends in one guest, over the modelled adapter: its reads and writes
# register memory by work requests, and the target's answers invalidate it. What is written is read
# back and compared.
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh --memory 768M
# again: device_server long --device-server
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

mebibytes=16
target=/sys/kernel/config/nvmet

log_mark
linux_up
for module in ib_ipoib rdma_cm nvmet-rdma nvme-rdma; do modprobe "$module" || fail "modprobe $module"; done
modprobe brd rd_nr=1 rd_size=32768 || fail "modprobe brd"
ip link set ib0 up && ip addr add 10.0.0.1/24 dev ib0 || fail "ib0"
wait_for 30 grep -q up /sys/class/net/ib0/operstate || fail "ib0 has no carrier"

mount -t configfs none /sys/kernel/config || fail "configfs"
mkdir "$target/subsystems/disk" && echo 1 >"$target/subsystems/disk/attr_allow_any_host" || fail "subsystem"
mkdir "$target/subsystems/disk/namespaces/1" && cd "$target/subsystems/disk/namespaces/1" || fail "namespace"
echo /dev/ram0 >device_path && echo 1 >enable || fail "namespace"
mkdir "$target/ports/1" && cd "$target/ports/1" || fail "port"
echo rdma >addr_trtype && echo ipv4 >addr_adrfam && echo 10.0.0.1 >addr_traddr && echo 4420 >addr_trsvcid ||
  fail "the port's address"
ln -s "$target/subsystems/disk" "$target/ports/1/subsystems/disk" || fail "the target does not listen"
cd / || fail "cd"

echo "transport=rdma,traddr=10.0.0.1,trsvcid=4420,nqn=disk,nr_io_queues=1" >/dev/nvme-fabrics || fail "no connection"
wait_for 20 [ -b /dev/nvme0n1 ] || fail "no disk"

random_file /run/data "$mebibytes" || fail "data"
dd if=/run/data of=/dev/nvme0n1 bs=256k oflag=direct 2>/run/dd || fail "write: $(cat /run/dd)"
dd if=/dev/nvme0n1 of=/run/back bs=256k count=$((mebibytes * 4)) iflag=direct 2>/run/dd || fail "read: $(cat /run/dd)"
cmp /run/data /run/back || fail "what is read back differs"
dd if=/dev/ram0 of=/run/back bs=1M count="$mebibytes" 2>/dev/null
cmp /run/data /run/back || fail "what stands on the target's disk differs"

registered=$(host get fast_registrations) invalidated=$(host get remote_invalidations)
say "$mebibytes MiB there and back: $registered fast registrations, $invalidated invalidations by the peer," \
  "$(host get local_invalidations) local ones"
# 256 KiB at a time, at least.
[ "$registered" -ge $((mebibytes * 8)) ] || fail "only $registered fast registrations"
[ "$invalidated" -ge $((mebibytes * 8)) ] || fail "only $invalidated invalidations by the peer"

echo 1 >/sys/class/nvme/nvme0/delete_controller || fail "the connection does not end"
rm "$target/ports/1/subsystems/disk" && rmdir "$target/ports/1" "$target/subsystems/disk/namespaces/1" \
  "$target/subsystems/disk" || fail "the target's configuration"
ip link set ib0 down
for module in nvme-rdma nvmet-rdma brd rdma_ucm rdma_cm; do
  modprobe -r "$module" || fail "modprobe -r $module"
done
linux_down
log_clean || fail "the kernel's log"
no_complaints
