#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What `./dev demo` runs in the guest, with the adapter bound to vfio-pci: the demo, and the model's own word.
. /usr/lib/guest/lib.sh
log_mark
freehca_demo "$(hca_address)" || fail "the demo ended with status $?"
complaints=$(host get complaints) || fail "the complaint counter cannot be read"
[ "$complaints" = 0 ] || fail "the model had $complaints complaints"
log_clean || fail "the kernel's log is not clean"
