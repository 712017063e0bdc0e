#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Five changes between Linux's driver and ours, with function-level reset on.
# program: hcactl
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh --file tests/guest/driver_change.sh:/guest/driver_change.sh
# options: --device mlx4,flr=on
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/driver_change.sh
. /guest/driver_change.sh
driver_change 5
