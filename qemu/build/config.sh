# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# How QEMU is configured, and where its trees lie in the cache. Sourced, never run.

# The system's own tools, whatever else stands first in the user's PATH (QEMU's configure is picky
# about Python).
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

# One target, TCG (and KVM for those who have it), no user interface, none of the optional
# libraries.
QEMU_CONFIGURE=(
  --target-list=x86_64-softmmu --without-default-features --enable-tcg --enable-kvm --enable-fdt=system
  --disable-docs --disable-tools --disable-guest-agent --disable-install-blobs --disable-debug-info
  --disable-werror
)

# qemu_tree_key SOURCE_ID: what a configured and compiled tree depends on, but for our device.
qemu_tree_key() {
  {
    printf '%s\n' "$1" "${QEMU_CONFIGURE[@]}"
    gcc --version | head -n 1
    /usr/bin/meson --version
    cat "$FREEHCA_ROOT/qemu/build/tree.sh"
  } | key_of
}
