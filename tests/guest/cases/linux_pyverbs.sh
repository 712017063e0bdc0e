#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# pyverbs' own tests, as Debian has them, on Linux's mlx4_ib and an InfiniBand port. Those that pass
# are those of the list that tests/programs wants from the driver.
# options: --more-packages pyverbs --device mlx4 --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# then: tests/programs/pyverbs_names.py tests/programs/pyverbs_mlx4_ib.txt build/logs/guest-linux_pyverbs.log
# tier: long
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

linux_up
gunzip /usr/share/doc/rdma-core/tests/*.gz || fail "gunzip"
cd /usr/share/doc/rdma-core || fail "no tests"
python3.11 tests/run_tests.py --dev mlx4_0 --port 1 -v >/run/tests 2>&1
status=$?
cat /run/tests
[ $status = 0 ] || fail "pyverbs: status $status"
cd / && linux_down
no_complaints
