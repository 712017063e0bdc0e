#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Linux's own mlx4_en fetches pages from the image `web`, which is a machine without an operating
# system at the other end of an Ethernet cable. The page has 1 MiB, and is fetched ten times. It is
# fetched once more while the image's adapter loses one of a hundred frames.
# options: --device mlx4,link1=eth --bare x86_64,web,link1=eth
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# options: --file tests/guest/linux_ipoib.sh:/guest/linux_ipoib.sh
# options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
# needs: build/bare-x86_64/images/web.elf
# tier: long
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
# shellcheck source=tests/guest/linux_ipoib.sh
. /guest/linux_ipoib.sh
# shellcheck source=tests/guest/ethernet_traffic.sh
. /guest/ethernet_traffic.sh

page_bytes=1048576
page_sum=0619a17b2a17af16d1d340aa340ba6bdb1760f857445b601b3a50bddde82d344

# get PATH: the answer, with its header.
get() {
  printf 'GET %s HTTP/1.0\r\n\r\n' "$1" | timeout 60 nc 10.0.2.15 80 >/run/answer || fail "GET $1"
  head -n 1 /run/answer | grep -q "^HTTP/1.0 200 " || fail "GET $1: $(head -n 1 /run/answer)"
}

# page: fetches it, and compares its checksum.
page() {
  get /page
  tail -c $page_bytes /run/answer >/run/page
  [ "$(wc -c </run/page)" = $page_bytes ] || fail "the page has $(wc -c </run/page) bytes"
  page_found=$(sha256sum </run/page)
  [ "$page_found" = "$page_sum  -" ] || fail "the page's checksum: $page_found"
}

log_mark
host bare until "^freehca web " || fail "the bare machine does not start"
ethernet_up
ip addr add 10.0.2.2/24 dev "$interface" || fail "$interface: its address"
host bare until "^serving " || fail "the bare machine does not serve"
for _ in 1 2 3 4 5 6 7 8 9 10; do
  page
done
say "mlx4_en has fetched 1 MiB ten times from the image web"
host bare set x-fault-link1 loss:10000:seed:7 || fail "the loss"
page
lost=$(host bare get counter-port1_fault_lost)
host bare set x-fault-link1 "" || fail "no loss"
[ "$lost" -gt 1 ] || fail "$lost frames were lost"
say "and once while $lost frames were lost"
get /
cat /run/answer
host bare passed || fail "the bare machine"
ethernet_down
ethernet_clean
