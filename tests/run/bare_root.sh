#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# bare_root.sh FOLDER COMMAND...: makes FOLDER a bare Debian root (debootstrap, smallest variant)
# when it is not one yet, puts the last commit into its /freehca, and runs the command there, as
# root, with nothing of this machine's environment. For: bare_root.sh /var/tmp/bare ./dev demo
set -euo pipefail
FREEHCA_ROOT=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
export FREEHCA_ROOT
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
[[ $EUID -eq 0 ]] || die "bare_root.sh needs root (chroot)"
[[ $# -ge 2 ]] || die "usage: bare_root.sh FOLDER COMMAND..."
root=$1
shift
command -v debootstrap >/dev/null || die "apt-get install debootstrap"
if [[ ! -e $root/bare-root-done ]]; then
  release=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
  mirror=$("$FREEHCA_ROOT/dev.d/apt_sources.py" | sed -n 's/^URIs: //p' | head -n 1)
  mkdir -p "$root"
  step "debootstrap" debootstrap --variant=minbase "$release" "$root" "$mirror" || die "debootstrap fails"
  # How this machine reaches the archive (a proxy, the age of lists), but none of its packages.
  apt-config dump | grep '^Acquire::' >"$root/etc/apt/apt.conf.d/10acquire" || true
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  # A device that every kernel with TUN has.
  mkdir -p "$root/dev/net"
  [[ -e $root/dev/net/tun ]] || mknod -m 666 "$root/dev/net/tun" c 10 200
  touch "$root/bare-root-done"
fi
if [[ -d $root/freehca/.git ]]; then
  git -C "$root/freehca" fetch -q "$FREEHCA_ROOT" HEAD
  git -C "$root/freehca" checkout -q --detach FETCH_HEAD
else
  git clone -q "$FREEHCA_ROOT" "$root/freehca"
fi
began=$(date +%s) status=0
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$root" sh -c 'cd /freehca && "$@"' sh "$@" || status=$?
umount "$root/proc" 2>/dev/null || true
say "$* in $root: status $status after $(($(date +%s) - began)) s"
exit "$status"
