#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# in_root.sh ROOT FOLDER COMMAND...: becomes COMMAND, as an ordinary user without capabilities, in
# ROOT with FOLDER as its /mnt. /dev, /proc and /sys are the machine's, /tmp is empty. Needs root,
# and runs in a mount namespace of its own: unshare --mount in_root.sh ...
set -euo pipefail
root=$1 folder=$2
shift 2
for name in dev proc sys; do
  mount --rbind "/$name" "$root/$name"
done
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --bind "$folder" "$root/mnt"
cd "$root"
exec chroot . setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"
