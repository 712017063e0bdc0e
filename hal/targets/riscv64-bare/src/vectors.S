// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Traps. mscratch holds the handlers' stack, and zero while one runs. An interrupt saves what the
// calling convention leaves to the caller (RISC-V ELF psABI 1.0, chapter 1), floating point too:
// what the handler calls is compiled as anything else is.

    .section .text.vectors, "ax"
    .balign 4
    .global freehca_bare_trap
freehca_bare_trap:
    csrrw   sp, mscratch, sp
    beqz    sp, nested
    addi    sp, sp, -320
    sd      t0, 0(sp)
    csrr    t0, mcause
    bgez    t0, unexpected          // the top bit says that it is an interrupt
    sd      ra, 8(sp)
    sd      t1, 16(sp)
    sd      t2, 24(sp)
    sd      t3, 32(sp)
    sd      t4, 40(sp)
    sd      t5, 48(sp)
    sd      t6, 56(sp)
    sd      a0, 64(sp)
    sd      a1, 72(sp)
    sd      a2, 80(sp)
    sd      a3, 88(sp)
    sd      a4, 96(sp)
    sd      a5, 104(sp)
    sd      a6, 112(sp)
    sd      a7, 120(sp)
    csrrw   t1, mscratch, zero
    sd      t1, 128(sp)             // the stack pointer of before
    frcsr   t1
    sd      t1, 136(sp)
    fsd     ft0, 144(sp)
    fsd     ft1, 152(sp)
    fsd     ft2, 160(sp)
    fsd     ft3, 168(sp)
    fsd     ft4, 176(sp)
    fsd     ft5, 184(sp)
    fsd     ft6, 192(sp)
    fsd     ft7, 200(sp)
    fsd     ft8, 208(sp)
    fsd     ft9, 216(sp)
    fsd     ft10, 224(sp)
    fsd     ft11, 232(sp)
    fsd     fa0, 240(sp)
    fsd     fa1, 248(sp)
    fsd     fa2, 256(sp)
    fsd     fa3, 264(sp)
    fsd     fa4, 272(sp)
    fsd     fa5, 280(sp)
    fsd     fa6, 288(sp)
    fsd     fa7, 296(sp)
    mv      a0, t0
    call    freehca_bare_interrupt
    fld     ft0, 144(sp)
    fld     ft1, 152(sp)
    fld     ft2, 160(sp)
    fld     ft3, 168(sp)
    fld     ft4, 176(sp)
    fld     ft5, 184(sp)
    fld     ft6, 192(sp)
    fld     ft7, 200(sp)
    fld     ft8, 208(sp)
    fld     ft9, 216(sp)
    fld     ft10, 224(sp)
    fld     ft11, 232(sp)
    fld     fa0, 240(sp)
    fld     fa1, 248(sp)
    fld     fa2, 256(sp)
    fld     fa3, 264(sp)
    fld     fa4, 272(sp)
    fld     fa5, 280(sp)
    fld     fa6, 288(sp)
    fld     fa7, 296(sp)
    ld      t1, 136(sp)
    fscsr   t1
    addi    t1, sp, 320
    csrw    mscratch, t1
    ld      t0, 0(sp)
    ld      ra, 8(sp)
    ld      t1, 16(sp)
    ld      t2, 24(sp)
    ld      t3, 32(sp)
    ld      t4, 40(sp)
    ld      t5, 48(sp)
    ld      t6, 56(sp)
    ld      a0, 64(sp)
    ld      a1, 72(sp)
    ld      a2, 80(sp)
    ld      a3, 88(sp)
    ld      a4, 96(sp)
    ld      a5, 104(sp)
    ld      a6, 112(sp)
    ld      a7, 120(sp)
    ld      sp, 128(sp)
    mret

unexpected:
    csrw    mscratch, zero
    li      a3, 0
    j       tell
nested:
    csrw    mscratch, zero
    li      a3, 1
tell:
    la      sp, freehca_bare_interrupt_stack_high
    csrr    a0, mcause
    csrr    a1, mepc
    csrr    a2, mtval
    call    freehca_bare_exception
