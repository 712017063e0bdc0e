// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Exceptions, taken on SP_EL1. An interrupt saves what the procedure call standard leaves to the
// caller (AAPCS64, 6.1), vector registers too: what the handler calls is compiled as anything else
// is.

    .macro  fatal kind
    .balign 0x80
    mov     x0, #\kind
    b       unexpected
    .endm

    .section .text.vectors, "ax"
    .balign 0x800
    .global freehca_bare_vectors
freehca_bare_vectors:
    fatal   0                       // a mistake of the program
    .balign 0x80
    b       interrupt
    fatal   2
    fatal   3                       // an access that failed elsewhere
    fatal   4                       // the same four from inside a handler
    fatal   5
    fatal   6
    fatal   7
    fatal   8                       // nothing runs at level 0
    fatal   9
    fatal   10
    fatal   11
    fatal   12
    fatal   13
    fatal   14
    fatal   15

unexpected:
    ldr     x4, =freehca_bare_interrupt_stack_high
    mov     sp, x4
    mrs     x1, esr_el1
    mrs     x2, elr_el1
    mrs     x3, far_el1
    bl      freehca_bare_exception

interrupt:
    sub     sp, sp, #704
    stp     x0, x1, [sp, #0]
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    stp     x8, x9, [sp, #64]
    stp     x10, x11, [sp, #80]
    stp     x12, x13, [sp, #96]
    stp     x14, x15, [sp, #112]
    stp     x16, x17, [sp, #128]
    stp     x18, x29, [sp, #144]
    mrs     x0, fpcr
    mrs     x1, fpsr
    stp     x30, x0, [sp, #160]
    str     x1, [sp, #176]
    add     x0, sp, #192
    stp     q0, q1, [x0], #32
    stp     q2, q3, [x0], #32
    stp     q4, q5, [x0], #32
    stp     q6, q7, [x0], #32
    stp     q8, q9, [x0], #32
    stp     q10, q11, [x0], #32
    stp     q12, q13, [x0], #32
    stp     q14, q15, [x0], #32
    stp     q16, q17, [x0], #32
    stp     q18, q19, [x0], #32
    stp     q20, q21, [x0], #32
    stp     q22, q23, [x0], #32
    stp     q24, q25, [x0], #32
    stp     q26, q27, [x0], #32
    stp     q28, q29, [x0], #32
    stp     q30, q31, [x0]
    bl      freehca_bare_interrupt
    add     x0, sp, #192
    ldp     q0, q1, [x0], #32
    ldp     q2, q3, [x0], #32
    ldp     q4, q5, [x0], #32
    ldp     q6, q7, [x0], #32
    ldp     q8, q9, [x0], #32
    ldp     q10, q11, [x0], #32
    ldp     q12, q13, [x0], #32
    ldp     q14, q15, [x0], #32
    ldp     q16, q17, [x0], #32
    ldp     q18, q19, [x0], #32
    ldp     q20, q21, [x0], #32
    ldp     q22, q23, [x0], #32
    ldp     q24, q25, [x0], #32
    ldp     q26, q27, [x0], #32
    ldp     q28, q29, [x0], #32
    ldp     q30, q31, [x0]
    ldr     x1, [sp, #176]
    ldp     x30, x0, [sp, #160]
    msr     fpcr, x0
    msr     fpsr, x1
    ldp     x18, x29, [sp, #144]
    ldp     x16, x17, [sp, #128]
    ldp     x14, x15, [sp, #112]
    ldp     x12, x13, [sp, #96]
    ldp     x10, x11, [sp, #80]
    ldp     x8, x9, [sp, #64]
    ldp     x6, x7, [sp, #48]
    ldp     x4, x5, [sp, #32]
    ldp     x2, x3, [sp, #16]
    ldp     x0, x1, [sp, #0]
    add     sp, sp, #704
    eret
