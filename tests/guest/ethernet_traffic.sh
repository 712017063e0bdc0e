# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: an Ethernet port of the adapter with Linux's own drivers. Needs linux_traffic.sh and
# linux_ipoib.sh. Put into the guest with
#   # options: --file tests/guest/ethernet_traffic.sh:/guest/ethernet_traffic.sh
#
# ETHERNET_DRIVER (--env) names another driver than the adapter's: with a network card of QEMU's own
# in its place, what fails is the case or QEMU, and not the adapter. Such a card need not have all
# that `offered` asks for.
ethernet_driver=${ETHERNET_DRIVER:-mlx4_core}
# A card of QEMU's own in another network namespace, where a case has one.
peer_address=52:54:00:00:07:02

is_adapter() { [ "$ethernet_driver" = mlx4_core ]; }

# ethernet_find PORT: sets `interface` to the name of the port's.
ethernet_find() {
  for interface_path in /sys/class/net/*; do
    interface_driver=$(readlink "$interface_path/device/driver") || continue
    if [ "${interface_driver##*/}" = "$ethernet_driver" ] &&
      [ $(($(cat "$interface_path/dev_port") + 1)) = "$1" ] &&
      [ "$(cat "$interface_path/address")" != $peer_address ]; then
      interface=${interface_path##*/}
      return 0
    fi
  done
  return 1
}

has_carrier() { [ "$(cat "/sys/class/net/$1/carrier" 2>/dev/null)" = 1 ]; }
has_no_carrier() { ! has_carrier "$1"; }

# gid_index DEVICE PORT TYPE PATTERN: prints the number of the GID of that type that has the
# pattern.
gid_index() {
  for gid_path in "/sys/class/infiniband/$1/ports/$2/gids/"*; do
    gid_number=${gid_path##*/}
    grep -q "$4" "$gid_path" || continue
    [ "$(cat "/sys/class/infiniband/$1/ports/$2/gid_attrs/types/$gid_number" 2>/dev/null)" = "$3" ] || continue
    echo "$gid_number"
    return 0
  done
  return 1
}

# ethernet_up [mlx4_core's options...]: loads the drivers, and waits for the carrier of port 1,
# whose interface is then `interface`.
ethernet_up() {
  if is_adapter; then
    modprobe mlx4_core "$@" && modprobe mlx4_en || fail "modprobe mlx4_core $*"
  else
    modprobe virtio_pci && modprobe "$ethernet_driver" || fail "modprobe $ethernet_driver"
  fi
  wait_for 20 ethernet_find 1 || fail "port 1 has no interface: $(ip link)"
  # The adapter's address goes by its GUID; two cards of QEMU's own have the same one.
  is_adapter || ip link set "$interface" address "52:54:00:00:07:1$HOST_INDEX" || fail "$interface: its address"
  ethernet_open
}

ethernet_open() {
  ip link set "$interface" up || fail "$interface does not go up"
  wait_for 20 has_carrier "$interface" || fail "$interface has no carrier: $(ip link show "$interface")"
}

# ethernet_down: unloads the drivers while the interface is up.
ethernet_down() {
  if is_adapter; then
    linux_down
  else
    modprobe -r "$ethernet_driver" || fail "modprobe -r $ethernet_driver"
  fi
  ! ethernet_find 1 || fail "$interface is left"
}

# ethernet_clean: the kernel's log, and the model's.
ethernet_clean() {
  # The driver of QEMU's e1000 says so when a cable is pulled under traffic.
  is_adapter || set -- 'e1000 .*: Reset adapter$'
  log_clean "$@" || fail "the kernel's log"
  ! is_adapter || no_complaints
}

# dhcp: asks for an address, and takes it.
dhcp() {
  cat >/run/dhcp-script <<'END'
#!/bin/sh
case $1 in
  deconfig) ip -4 addr flush dev "$interface" ;;
  bound | renew)
    ip addr replace "$ip/$mask" dev "$interface"
    [ -z "$router" ] || ip route replace default via "$router" dev "$interface"
    echo "leased $ip/$mask by $serverid, router $router"
    ;;
esac
END
  chmod +x /run/dhcp-script
  udhcpc -i "$interface" -f -q -n -t 10 -T 1 -s /run/dhcp-script >/run/dhcp 2>&1 || fail "DHCP: $(cat /run/dhcp)"
  say "DHCP: $(grep '^leased' /run/dhcp)"
}

# offered COMMAND...: it succeeds. A card of QEMU's own may lack it.
offered() {
  timeout 150 "$@" >/run/offered 2>&1 && return 0
  ! is_adapter && grep -qiE 'not supported|invalid argument|no data|could not change' /run/offered ||
    fail "$*: $(cat /run/offered)"
  say "$ethernet_driver lacks: $*"
}

# A file for copying, and its checksum. busybox spends 15 instructions a byte on MD5, and 73 on
# SHA-256.
copy_file() { random_file /run/file "$1"; }
sum_of() { md5sum <"$1"; }

# copied FROM TO ADDRESS MIB WHAT: a file by TCP from one network namespace to the other, whose
# answer is the checksum of what has come. The namespace `here` is this one.
within() {
  if [ "$1" = here ]; then
    shift
    "$@"
  else
    within_space=$1
    shift
    ip netns exec "$within_space" "$@"
  fi
}
copied() {
  copy_file "$4"
  moved "$1" "$2" "$3" "$5"
  rm /run/file
}

# moved FROM TO ADDRESS WHAT: /run/file, as it is there.
moved() {
  within "$2" nc -l -p 5000 -e md5sum &
  copied_pid=$!
  wait_for 10 within "$2" sh -c 'ss -Hltn "sport = 5000" | grep -q .' || fail "copy, $4: no listener"
  within "$1" timeout 120 nc "$3" 5000 </run/file >/run/far-sum || fail "copy from $1 to $2, $4"
  wait $copied_pid
  cmp -s /run/far-sum - <<END || fail "copy from $1 to $2, $4: not what was sent: $(cat /run/far-sum)"
$(sum_of /run/file)
END
}

# copied_both_ways HERE THERE MIB WHAT: between this namespace, of that address, and `far`.
copied_both_ways() {
  copied here far "$2" "$3" "$4"
  copied far here "$1" "$3" "$4"
  say "$3 MiB each way, $4"
}

# copied_to_user_network MIB WHAT: to the host and back, by programs that QEMU's user network runs
# for who connects to 10.0.2.100: port 5001 keeps what comes and answers its checksum, port 5002
# gives it back.
copied_to_user_network() {
  copy_file "$1"
  sum_of /run/file >/run/sum
  timeout 200 nc 10.0.2.100 5001 </run/file >/run/far-sum || fail "to the user network, $2"
  cmp -s /run/sum /run/far-sum || fail "to the user network, $2: not what was sent: $(cat /run/far-sum)"
  timeout 200 nc 10.0.2.100 5002 </dev/null >/run/back || fail "from the user network, $2"
  [ "$(sum_of /run/back)" = "$(cat /run/sum)" ] || fail "from the user network, $2: $(wc -c </run/back) bytes, changed"
  rm /run/file /run/back
  say "$1 MiB to the user network and back, $2"
}

# serve SPACE MIB WHAT: a file and its checksum in a network namespace, by HTTP: busybox's nc sends
# a KiB at a time, so that the emulated processor would be what is tested.
serve() {
  mkdir -p /run/www && random_file /run/www/file "$2"
  sum_of /run/www/file >/run/www/sum
  # Not by `within`: a function in the background is a shell, and httpd its child.
  if [ "$1" = here ]; then
    httpd -f -p 8080 -h /run/www &
  else
    ip netns exec "$1" httpd -f -p 8080 -h /run/www &
  fi
  serve_pid=$!
  wait_for 10 within "$1" sh -c 'ss -Hltn "sport = 8080" | grep -q .' || fail "copy, $3: no listener"
}
serve_no_more() {
  kill "$serve_pid"
  wait "$serve_pid" 2>/dev/null
  rm -r /run/www
}

# fetched SPACE ADDRESS WHAT: what `serve` has there comes whole to this namespace.
fetch() { within "$1" timeout 200 wget -q -O "/run/got-$3" "http://$2:8080/$3"; }
fetched() {
  fetched_from=$2
  case $2 in *:*) fetched_from="[$2]" ;; esac
  fetch "$1" "$fetched_from" file && fetch "$1" "$fetched_from" sum || fail "copy from $2, $3"
  [ "$(sum_of /run/got-file)" = "$(cat /run/got-sum)" ] || fail "copy from $2, $3: not what was sent"
  rm /run/got-*
}

# copied_between_hosts HOST1 HOST2 MIB WHAT [TIMES]: from each host to the other's address; a file
# that is fetched so many times.
copied_between_hosts() {
  copied_times=${5:-1}
  for copied_from in 1 2; do
    copied_address=$1
    [ $copied_from = 1 ] || copied_address=$2
    [ "$HOST_INDEX" != $copied_from ] || serve here "$3" "$4"
    host sync copy
    for copied_time in $(seq "$copied_times"); do
      [ "$HOST_INDEX" = $copied_from ] || fetched here "$copied_address" "$4"
      # Each time: the host waits for five minutes at most where guests meet.
      host sync "copied $copied_time" || fail "copy, $4: the other host"
    done
    if [ "$HOST_INDEX" = $copied_from ]; then
      serve_no_more
    else
      say "$(($3 * copied_times)) MiB from $copied_address, $4"
    fi
  done
}

# peer_up ADDRESS/BITS: the other card is the interface `peer` in the namespace `far`.
peer_is_here() {
  for peer_path in /sys/class/net/*; do
    [ "$(cat "$peer_path/address")" = $peer_address ] && peer_name=${peer_path##*/} && return 0
  done
  return 1
}
peer_up() {
  modprobe virtio_pci && modprobe virtio_net || fail "modprobe virtio_net"
  wait_for 20 peer_is_here || fail "no card with the address $peer_address: $(ip link)"
  ip netns add far && ip link set "$peer_name" netns far name peer || fail "the namespace far"
  ip -n far link set lo up && ip -n far link set peer up && ip -n far addr add "$1" dev peer || fail "peer"
}

# peer_down: it comes back to this namespace.
peer_down() {
  ip netns del far
  wait_for 20 peer_is_here || fail "the peer does not come back"
}

# mtu_both BYTES: of the interface and of its peer.
mtu_both() {
  ip link set "$interface" mtu "$1" && ip -n far link set peer mtu "$1" || fail "MTU $1"
  wait_for 20 has_carrier "$interface" || fail "no carrier with MTU $1"
}

received() { cat "/sys/class/net/$interface/statistics/$1"; }
received_more() { [ $(($(received rx_packets) - $1)) -ge "$2" ]; }

# rx_filter PATTERN: what QEMU knows of what the port lets in. Of a card of QEMU's own where
# ETHERNET_FILTER gives its name.
rx_filter() {
  filter_name=${ETHERNET_FILTER:-}
  [ -n "$filter_name" ] || ! is_adapter || filter_name=hca0.1
  [ -n "$filter_name" ] || return 0
  host qmp '{"execute": "query-rx-filter", "arguments": {"name": "'"$filter_name"'"}}' >/run/filter ||
    fail "query-rx-filter"
  grep -qE -- "$1" /run/filter
}
