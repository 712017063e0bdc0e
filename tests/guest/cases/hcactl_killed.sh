#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# SIGKILL at twelve instants of bring-up, traffic and teardown on either card: the next owner gets
# the adapter, nothing is written to memory that is not the adapter's any more, and Linux's driver
# is well at the end.
# mostly: waits
# program: hcactl
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh
# options: --file tests/guest/hcactl_instants.sh:/guest/hcactl_instants.sh
# options: --file tests/guest/hcactl_killed.sh:/guest/hcactl_killed.sh
# One processor: QEMU before 8.2 can crash when one maps a BAR while another reads a register (its
# tcg_commit).
# options: --smp 1 --device mlx4,flr=on,addr=8 -- -device mlx4,flr=off,addr=9,id=hca1
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/hcactl_outcomes.sh
. /guest/hcactl_outcomes.sh
# shellcheck source=tests/guest/hcactl_instants.sh
. /guest/hcactl_instants.sh
# shellcheck source=tests/guest/hcactl_killed.sh
. /guest/hcactl_killed.sh
killed_often 3
