#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# pyverbs' own tests of flow rules, as Debian has them, on an Ethernet port with device-managed
# steering. A frame goes to a multicast address that no interface has joined, and back to the queue
# pair that has a rule for it.
# options: --more-packages pyverbs --device mlx4,link1=eth,netdev1=net1 --memory 768M
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: -- -netdev hubport,id=net1,hubid=0
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh

log_mark
ethernet_up log_num_mgm_entry_size=-1
[ "$(host get init_device_managed_steering)" = 1 ] ||
  fail "the driver did not choose device-managed steering"
modprobe mlx4_ib && modprobe ib_uverbs || fail "modprobe mlx4_ib, ib_uverbs"
wait_for 10 [ -e /dev/infiniband/uverbs0 ] || fail "no device uverbs0"
gunzip /usr/share/doc/rdma-core/tests/*.gz || fail "gunzip"
cd /usr/share/doc/rdma-core || fail "no tests"
python3.11 tests/run_tests.py --dev mlx4_0 --port 1 -v tests.test_flow >/run/tests 2>&1
status=$?
cat /run/tests
[ $status = 0 ] || fail "pyverbs: status $status"
grep -q '^test_eth_spec_flow_traffic .* ok$' /run/tests ||
  fail "the rule for Ethernet frames was not tested"
# The others ask for rules by IPv4 and IPv6, for which pyverbs takes no ConnectX-3 (tests/base.py,
# is_eth_and_has_roce_hw_bug).
[ "$(grep -c " skipped .* doesn't support Ipv[46].*Spec" /run/tests)" = 4 ] ||
  fail "other tests were skipped"
attached=$(host get command_QP_FLOW_STEERING_ATTACH)
[ "$(host get command_QP_FLOW_STEERING_DETACH)" -gt 0 ] || fail "no rule of pyverbs has ended"
cd / && ethernet_down
say "$attached rules made, $(host get command_QP_FLOW_STEERING_DETACH) ended"
ethernet_clean
