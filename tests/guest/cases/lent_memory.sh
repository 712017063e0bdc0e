#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What an idle adapter costs: pages of context memory lent, and commands issued from the reset on,
# by Linux's mlx4_core and mlx4_ib and by our driver, both in the same state: the same sizes in
# INIT_HCA and the same steering, as many event queues, interrupts, both ports active, their GID and
# P_Key tables read. The firmware's own area and its auxiliary area are not counted: the model chose
# their sizes.
#
# mlx4_ib takes part because mlx4_core alone starts no InfiniBand port and reads no table; it loads
# it anyway. The pages of the multicast table, which Linux maps whole and we with the first group,
# are left out, which is the harder way.
# program: hcactl
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh

sizes="qps srqs cqs eqs mpts mcgs mcg_entry rdmarc_per_qp"
get() { host get "$1" || fail "the model's counter $1"; }
initialised_as() {
  for size in $sizes mcg_hash; do printf '%s=%s ' "$size" "$(get "init_log_$size")"; done
  printf 'b0_steering=%s event_queues=%s\n' "$(get init_b0_steering)" "$(get event_queues)"
}

# idle: no command was issued for two seconds; the tables are read by work in the background.
idle() {
  idle_commands=$(get commands)
  sleep 2
  [ "$(get commands)" = "$idle_commands" ]
}
by_table() {
  for table in qpc auxc altc rdmarc srqc cqc eqc dmpt mtt mcg cmpt; do
    printf ' %s %s' $table "$(host get "icm_pages_$table" 2>/dev/null || echo -)"
  done
}

log_mark
before=$(get commands)
modprobe mlx4_core && modprobe mlx4_ib || fail "modprobe"
for port in 1 2; do
  wait_for 20 port_active mlx4_0 $port || fail "port $port is not active"
  [ "$(cat /sys/class/infiniband/mlx4_0/ports/$port/gids/0)" != 0000:0000:0000:0000:0000:0000:0000:0000 ] ||
    fail "port $port has no GID"
done
idle || idle || idle || fail "mlx4_ib does not come to rest"
linux_pages=$(get icm_pages) linux_commands=$(($(get commands) - before))
unicast_pages=$((linux_pages - $(get icm_pages_mcg)))
linux_as=$(initialised_as)
say "mlx4_core and mlx4_ib: $linux_pages pages, $linux_commands commands:$(by_table)"
say "INIT_HCA: $linux_as"
set --
for size in $sizes; do set -- "$@" --size "$size=$(get "init_log_$size")"; done
set -- "$@" --event-queues "$(get event_queues)"
linux_down

hca=$(hca_address) || fail "no adapter"
bind_vfio "$hca" || fail "vfio-pci does not take the adapter"
before=$(get commands)
hcactl up "$hca" --tables --hold "$@" >/run/held 2>&1 &
holder=$!
wait_for 30 grep -q '^held' /run/held || fail "hcactl up --hold: $(cat /run/held)"
our_pages=$(get icm_pages) our_commands=$(($(get commands) - before))
our_as=$(initialised_as)
say "freehca: $our_pages pages, $our_commands commands:$(by_table)"
grep -E '^(port|tables|commands|lent) ' /run/held
[ "$our_as" = "$linux_as" ] || fail "not the same state: $our_as"
[ "$(grep -c '^port [12] .*InfiniBand, Active' /run/held)" = 2 ] || fail "two ports are not active: $(cat /run/held)"
[ "$(grep -c '^tables [12] .*GIDs fe80:.*P_Keys 0xffff' /run/held)" = 2 ] || fail "the tables: $(cat /run/held)"
grep -q 'completion by interrupt' /run/held || fail "not by interrupt: $(cat /run/held)"
kill -INT $holder
wait $holder || fail "hcactl up --hold ended with status $?: $(cat /run/held)"
[ "$(get icm_pages)" = 0 ] || fail "pages are still lent"

say "pages: $our_pages of $linux_pages ($unicast_pages without the multicast table); commands: $our_commands of $linux_commands"
[ $((our_pages * 4)) -le $unicast_pages ] || fail "more than a quarter of Linux's pages"
[ $((our_commands * 2)) -le "$linux_commands" ] || fail "more than half of Linux's commands"
log_clean || fail "the kernel's log"
no_complaints
