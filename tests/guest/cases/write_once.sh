#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The program that README.md opens with, over VFIO, twice; without an adapter it says what is wrong.
# program: write_once
# options: --driver vfio
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

hca=$(hca_address) || fail "no adapter"
log_mark
for turn in first second; do
  write_once "$hca" >/run/output 2>&1 || fail "$turn run: status $?: $(cat /run/output)"
  [ "$(cat /run/output)" = "64 bytes: ok" ] || fail "$turn run: $(cat /run/output)"
done
if write_once 0000:ff:1f.7 >/run/output 2>&1; then fail "it found an adapter that is not there"; fi
grep -q "no PCI function 0000:ff:1f.7" /run/output || fail "no message: $(cat /run/output)"
log_clean || fail "the kernel's log"
no_complaints
