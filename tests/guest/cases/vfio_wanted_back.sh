#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The kernel takes the adapter away from a program that uses it. Unbinding waits until the program
# has closed the function, so the program must hear of it. An error that the bus reports ends it as
# well. The adapter works afterwards.
# program: hcactl
# One processor: QEMU before 8.2 can crash when one maps a BAR while another reads a register (its
# tcg_commit).
# options: --smp 1 --no-device --
# options: -device pcie-root-port,id=port1,chassis=1 -device mlx4,bus=port1,id=hca0
. /usr/lib/guest/lib.sh

hca=$(hca_address)

# begin COMMAND...: runs hcactl until it uses the adapter.
begin() {
  bind_vfio "$hca" || fail "vfio-pci does not take $hca"
  rm -f /run/out
  hcactl "$@" >/run/out 2>&1 &
  program=$!
  wait_for 30 grep -q '^port 1' /run/out || fail "hcactl $1 does not begin: $(cat /run/out)"
}

# ends STATUS WORDS: how the program ended.
ends() {
  status=0
  wait $program || status=$?
  [ $status = "$1" ] || fail "status $status instead of $1: $(cat /run/out)"
  grep -q "$2" /run/out || fail "it does not say '$2': $(cat /run/out)"
}

begin up "$hca" --hold
echo "$hca" >/sys/bus/pci/drivers/vfio-pci/unbind || fail "unbind is refused"
ends 26 'the kernel wants .* back'
say "unbound beneath hcactl up"

begin up "$hca" --hold
inject='"command-line": "pcie_aer_inject_error hca0 DLP"'
host qmp "{\"execute\": \"human-monitor-command\", \"arguments\": {$inject}}" || fail "no error"
ends 22 'is gone or broken'
say "an error of the bus beneath hcactl up"
hcactl ping "$hca" --messages 10 || fail "the adapter does not work after the error"
[ "$(host get complaints)" = 0 ] || fail "complaints"
