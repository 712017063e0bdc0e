# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The address that the image is linked for, and has to be loaded to: 0x200000 behind a multiple of
# 0x200000, in memory (the raw file's header says so to boot loaders: start.S, TEXT_OFFSET). Wrong:
# silence, as the first absolute address leads to nowhere.
# Here: memory begins at 0x10000000000, 1 TiB (QEMU 7.2 hw/arm/sbsa-ref.c, SBSA_MEM).
set(load_address 0x10000200000)
