# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# How QEMU is configured, and where its trees lie in the cache. Sourced, never run.

# The system's own tools, whatever else stands first in the user's PATH (QEMU's configure is picky
# about Python).
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

# One tree for the processors of all guests: most of QEMU is compiled once for all of them, and
# ninja compiles no more than the binary that is asked for needs. TCG (and KVM for those who have
# it), no user interface, no optional library that is not named. The user network gives the guest
# tests' Ethernet ports a host to talk to.
# shellcheck disable=SC2054 # the commas are configure's
QEMU_CONFIGURE=(
  --target-list=x86_64-softmmu,aarch64-softmmu,riscv64-softmmu --without-default-features
  --enable-tcg --enable-kvm --enable-slirp --enable-fdt=system
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
