#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# pyverbs' own tests, as Debian has them, on Linux's mlx4_ib and an Ethernet port. Those that pass
# are those of the list that tests/programs wants from the driver. The tests of librdmacm do not
# run.
# options: --more-packages pyverbs --device mlx4,link1=eth,netdev1=net1 --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: -- -netdev hubport,id=net1,hubid=0
# then: tests/programs/pyverbs_names.py tests/programs/pyverbs_mlx4_ib_roce.txt build/logs/guest-linux_pyverbs_roce.log
# tier: long
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh

ethernet_up
modprobe mlx4_ib && modprobe ib_uverbs && modprobe ib_umad || fail "modprobe mlx4_ib, ib_uverbs"
ip addr add 10.0.1.1/24 dev "$interface" || fail "$interface: its address"
wait_for 10 [ -e /dev/infiniband/uverbs0 ] || fail "no device uverbs0"
gunzip /usr/share/doc/rdma-core/tests/*.gz || fail "gunzip"
cd /usr/share/doc/rdma-core && rm tests/test_rdmacm.py tests/test_mlx5_rdmacm.py* || fail "no tests"
python3.11 tests/run_tests.py --dev mlx4_0 --port 1 -v >/run/tests 2>&1
status=$?
cat /run/tests
[ $status = 0 ] || fail "pyverbs: status $status"
cd / && ethernet_down
no_complaints
