// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Where exceptions and interrupts enter. All of them have the stack of interrupts (IST 1), so that
// nothing below the stack pointer of what they interrupt is touched: that is compiled with a red
// zone. Each entry has 16 bytes.

    .section .text
    // Exceptions that bring an error code (Intel SDM volume 3, table 6-1).
    .set with_error_code, 0x60227d00

    .balign 16
    .global freehca_x86_exceptions
freehca_x86_exceptions:
    .set number, 0
    .rept 32
    .balign 16
    .ifeq (with_error_code >> number) & 1
    pushq $0
    .endif
    pushq $number
    jmp tell_exception
    .set number, number + 1
    .endr

tell_exception:
    movq %rsp, %rdi
    movq %cr2, %rsi
    andq $-16, %rsp
    cld
    call freehca_x86_exception
    ud2

    .balign 16
    .global freehca_x86_messages
freehca_x86_messages:
    .set number, 0
    .rept 16
    .balign 16
    pushq $number
    jmp take_message
    .set number, number + 1
    .endr

take_message:
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    movq 72(%rsp), %rdi
    // The processor aligned the stack and pushed 40 bytes; with these it is odd by 8.
    subq $520, %rsp
    fxsave64 (%rsp)
    cld
    call freehca_x86_message
    fxrstor64 (%rsp)
    addq $520, %rsp
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
    addq $8, %rsp
    iretq

    .balign 16
    .global freehca_x86_spurious
freehca_x86_spurious:
    iretq

    .section .note.GNU-stack, "", @progbits
