# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: what becomes of a run of hcactl. They set `hca`, the address of the adapter. Put into
# the guest with
#   # options: --file tests/guest/hcactl_outcomes.sh:/guest/hcactl_outcomes.sh

# refused CODE WORDS COMMAND...: ends with the exit code, and its message has the words.
refused() {
  refused_code=$1 refused_words=$2
  shift 2
  refused_status=0
  "$@" >/run/output 2>&1 || refused_status=$?
  [ "$refused_status" = "$refused_code" ] || fail "$*: status $refused_status, not $refused_code: $(cat /run/output)"
  grep -q "$refused_words" /run/output || fail "$*: no '$refused_words' in: $(cat /run/output)"
  say "$refused_code: $(head -n 1 /run/output)"
}

# works WHEN: the adapter comes up.
# shellcheck disable=SC2154 # hca is the case's
works() { hcactl up "$hca" >/run/output 2>&1 || fail "after $1: hcactl up: status $?: $(cat /run/output)"; }

# linux_works [ADDRESS...]: the adapters (hca) go from vfio-pci to Linux's driver, which brings them
# up and lets them go. Wants linux_traffic.sh.
linux_works() {
  [ $# -gt 0 ] || set -- "$hca"
  for linux_address in "$@"; do
    echo "$linux_address" >/sys/bus/pci/drivers/vfio-pci/unbind || fail "vfio-pci does not let go of $linux_address"
  done
  linux_up
  for linux_address in "$@"; do
    [ -e "/sys/bus/pci/drivers/mlx4_core/$linux_address" ] || fail "Linux's driver has not taken $linux_address"
  done
  linux_down
}
