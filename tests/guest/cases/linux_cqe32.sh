#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Linux's driver with 32-byte completion and event queue entries.
# needs: qemu/qom/meson.build
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# timeout: 180
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
linux_run enable_64b_cqe_eqe=0
