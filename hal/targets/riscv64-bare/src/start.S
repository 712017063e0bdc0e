// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// From reset to C++, at machine level, with the number of the hart in a0 and the device tree in a1
// (QEMU 7.2 hw/riscv/boot.c; what a first boot loader does too). There is no address translation at
// this level: what memory and devices are like, the platform says by its physical memory
// attributes. Fields of registers: The RISC-V Instruction Set Manual, Volume II, 20211203, 3.1.

    .section .text.start, "ax"
    .global freehca_bare_start
freehca_bare_start:
    csrw    mie, zero
    csrci   mstatus, 0x8            // MIE
    // The first to come here goes on.
    la      t0, came
    li      t1, 1
    amoadd.w t0, t1, (t0)
    bnez    t0, wait

    li      t0, 0x2000              // FS: floating point is on, which the compiler may use
    csrs    mstatus, t0
    la      t0, freehca_bare_trap
    csrw    mtvec, t0
    la      t0, freehca_bare_interrupt_stack_high
    csrw    mscratch, t0
    la      sp, freehca_bare_stack_high
    la      t0, freehca_bare_bss_begin
    la      t1, freehca_bare_bss_end
1:  sd      zero, (t0)
    addi    t0, t0, 8
    bltu    t0, t1, 1b
    call    freehca_bare_read_tree
    call    freehca_bare_entry

wait:
    wfi
    j       wait

    .section .data.start, "aw"
    .balign 4
came:
    .word   0
