# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# Functions for scripts in the guest: `. /usr/lib/guest/lib.sh` (already done in the guest's shell).
# Settings: HOST_INDEX (1, or 2 in the second guest of a pair), HOST_COUNT, HOST_BOOTS (from 1 on).
# shellcheck disable=SC1091 # written for each run by extra_files.py
. /guest/settings

say() { echo "== $*"; }

# fail MESSAGE: ends the script as failed.
fail() {
  echo "FAILED: $*"
  exit 1
}

# ---- The adapter
# --------------------------------------------------------------------------------------------

# hca_address: the PCI address of the (first) Mellanox function; fails when there is none.
hca_address() {
  for hca_device in /sys/bus/pci/devices/*; do
    if [ "$(cat "$hca_device/vendor")" = 0x15b3 ]; then
      basename "$hca_device"
      return 0
    fi
  done
  echo "no PCI device of vendor 15b3 in this guest" >&2
  return 1
}

# bind_driver ADDRESS DRIVER: unbinds the function from what drives it and binds it to the driver.
bind_driver() {
  bind_path=/sys/bus/pci/devices/$1
  [ -e "$bind_path/driver" ] && echo "$1" >"$bind_path/driver/unbind"
  echo "$2" >"$bind_path/driver_override"
  echo "$1" >"/sys/bus/pci/drivers/$2/bind"
  echo >"$bind_path/driver_override"
}

# bind_vfio ADDRESS: gives the function to vfio-pci.
bind_vfio() {
  [ -n "$1" ] && modprobe vfio-pci && modprobe vfio_iommu_type1 && bind_driver "$1" vfio-pci
}

# wait_for SECONDS COMMAND...: until the command succeeds; fails when it does not in time.
wait_for() {
  wait_tries=$(($1 * 10))
  shift
  until "$@" >/dev/null 2>&1; do
    wait_tries=$((wait_tries - 1))
    [ "$wait_tries" -gt 0 ] || return 1
    sleep 0.1
  done
}

# random_file FILE MIB: a file for copying, so many MiB long. A block of random bytes is repeated,
# since the kernel spends 80 instructions on a random byte. The length of the block, 2^20 - 3, is a
# prime number. Two parts of the file are equal only if their distance is a multiple of it, so a
# page or a segment in the place of another one changes the checksum.
random_file() {
  dd if=/dev/urandom of=/run/random-block bs=1048573 count=1 2>/dev/null || return 1
  for _ in $(seq "$(($2 + 1))"); do cat /run/random-block || return 1; done >"$1"
  truncate -s "$2M" "$1" && rm /run/random-block
}

# ---- Clean kernel log
# ---------------------------------------------------------------------------------------

kernel_complaints() { dmesg --level=emerg,alert,crit,err,warn; }

# log_mark: from here on, the kernel's log has to stay clean.
log_mark() { log_marked=$(kernel_complaints | wc -l); }

# log_clean [PATTERN...]: fails, and shows them, when the kernel's log at levels emerg to warn has
# gained lines since log_mark, other than those that /guest/allowed-kernel-messages and the patterns
# expect (extended regular expressions). Linux logs a line for each SMP that its port has no agent
# for yet. The most that was seen of one port is eight, on a machine with a load of 19. More than
# sixteen for the two ports of an adapter are not clean, even where the line is expected.
log_clean() {
  grep -vE '^(#|$)' /guest/allowed-kernel-messages >/run/allowed-messages
  [ $# = 0 ] || printf '%s\n' "$@" >>/run/allowed-messages
  kernel_complaints | tail -n "+$((log_marked + 1))" >/run/new-messages
  if [ -s /run/allowed-messages ]; then
    grep -vE -f /run/allowed-messages /run/new-messages >/run/bad-messages
  else
    cp /run/new-messages /run/bad-messages
  fi
  awk '/infiniband mlx4_[0-9]+: Unable to find port agent$/ {
    match($0, /mlx4_[0-9]+/)
    if (++seen[substr($0, RSTART, RLENGTH)] == 17) print
  }' /run/new-messages >>/run/bad-messages
  if [ -s /run/bad-messages ]; then
    echo "the kernel's log is not clean:"
    cat /run/bad-messages
    return 1
  fi
}

# ---- The line to the host
# -----------------------------------------------------------------------------------

# host COMMAND...: asks the host, prints its answer, fails when the host says no. Commands:
#   get PROPERTY [ID]          a property of the device (ID: hca0), or one of its counters
#                              (complaints)
#   reach COUNTER N [ID]       the counter once it is N or more, or as it is after half a second
#   set PROPERTY VALUE [ID]    sets it (VALUE as JSON, or a bare word)
#   qmp JSON                   any QMP command
#   sync NAME                  waits until the other guest of a pair says the same
#   cable on|off               plugs or pulls the cable 'wire' of port 1
#   kill                       kills this guest's QEMU, and boots the guest once more
#   move snapshot|migrated|live  the guest goes on in another QEMU, which loads a snapshot of this
#                              one, or which it migrates to, stopped or while it runs; for how many
#                              seconds it stood still
#   adapter kill               kills the adapter's process, where another takes its place
#                              (--device-server, restarts=on)
#   adapter upgrade            a new process takes over the adapter from the one that runs
#                              (--device-server, restarts=on)
#   bare answer LINE           types it in at the other end's serial line (--bare) when that asks
#   bare address SERVICE       has it make a queue pair, rc or ud; where that is
#   bare until PATTERN         reads its serial line until there; that line
#   bare set NAME VALUE        sets a property of its adapter
#   bare get NAME              prints a property of its adapter
#   bare passed                ends it and prints its image's size; fails unless it passed and its
#                              adapter had no complaint
host() {
  host_answer=
  {
    flock 8
    echo "$*" >&8
    IFS= read -r host_answer <&8
  } 8<>/dev/ttyS2
  case $host_answer in
    ok\ *) printf '%s\n' "${host_answer#ok }" ;;
    ok) ;;
    *)
      printf 'host: %s: %s\n' "$*" "$host_answer" >&2
      return 1
      ;;
  esac
}
