# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# How QEMU is configured, and where its trees lie in the cache. Sourced, never run.

# The system's own tools, whatever else stands first in the user's PATH (QEMU's configure is picky
# about Python).
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

# qemu_choose ARCHITECTURE: what a QEMU for guests of that processor is, or status 1 where there is
# none. One tree has the common x86_64 alone, so that whoever wants no other pays for no other. The
# other two share a second tree: what QEMU compiles once for all targets is most of it.
# shellcheck disable=SC2034 # the other two are for who sources this
qemu_choose() {
  local targets options
  case $1 in
    # With the user network, which gives the guest tests' Ethernet ports a host to talk to.
    x86_64)
      targets=x86_64-softmmu options=(--enable-tcg --enable-kvm --enable-slirp) QEMU_FOLDERS=''
      ;;
    aarch64 | riscv64)
      targets=aarch64-softmmu,riscv64-softmmu options=(--enable-tcg) QEMU_FOLDERS=foreign-
      ;;
    *) return 1 ;;
  esac
  QEMU_BINARY=qemu-system-$1
  # TCG (and KVM for those who have it), no user interface, no optional library that is not named.
  QEMU_CONFIGURE=(
    "--target-list=$targets" --without-default-features "${options[@]}" --enable-fdt=system
    --disable-docs --disable-tools --disable-guest-agent --disable-install-blobs --disable-debug-info
    --disable-werror
  )
}
# tree.sh runs as a program of its own: who calls it says by this variable which tree it is.
export QEMU_ARCHITECTURE=${QEMU_ARCHITECTURE:-x86_64}
if ! qemu_choose "$QEMU_ARCHITECTURE"; then
  echo "qemu: no QEMU for '$QEMU_ARCHITECTURE'; there are: x86_64 aarch64 riscv64" >&2
  exit 2
fi

# qemu_tree_key SOURCE_ID: what a configured and compiled tree depends on, but for our device.
qemu_tree_key() {
  {
    printf '%s\n' "$1" "${QEMU_CONFIGURE[@]}"
    gcc --version | head -n 1
    /usr/bin/meson --version
    cat "$FREEHCA_ROOT/qemu/build/tree.sh"
  } | key_of
}
