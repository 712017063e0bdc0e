#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# A port of freehca-device that leads to its own user network (--port1 user): DHCP, the gateway by
# IPv4 and IPv6, and a file by TFTP, whole.
# options: --device-server
# options: --device mlx4,link1=eth,port1=user:tftp=tests/guest/cases
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# options: --file tests/guest/cases/linux_ethernet.sh:/guest/sent
# tier: long
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh

has_ipv6() { ip -6 addr show dev "$interface" | grep -q 'inet6 fec0::'; }

log_mark
ethernet_up
dhcp
ping_far 10.0.2.2 "the gateway"
wait_for 30 has_ipv6 || fail "no IPv6 address from the router: $(ip -6 addr show dev "$interface")"
ping_far fec0::2 "the gateway, IPv6"
tftp -g -l /run/came -r linux_ethernet.sh 10.0.2.2 || fail "tftp"
cmp /run/came /guest/sent || fail "by TFTP: not what was sent"
ethernet_down
ethernet_clean
say "all done"
