// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Where exceptions and interrupts enter. All of them have the stack of interrupts (IST 1), so that
// nothing below the stack pointer of what they interrupt is touched: that is compiled with a red
// zone. Each entry has 8 bytes.

    .section .text
    // Exceptions that bring an error code (Intel SDM volume 3, table 6-1).
    .set with_error_code, 0x60227d00

    .balign 8
    .global freehca_x86_exceptions
freehca_x86_exceptions:
    .rept 32
    call tell_exception
    .balign 8
    .endr

tell_exception:
    popq %rdi                       // an address in the entry: tells which
    subq $freehca_x86_exceptions, %rdi
    shrq $3, %rdi
    movl $with_error_code, %eax
    btl %edi, %eax
    jc 1f
    pushq $0
1:  pushq %rdi
    movq %rsp, %rdi
    movq %cr2, %rsi
    andq $-16, %rsp
    cld
    call freehca_x86_exception
    ud2

    .balign 8
    .global freehca_x86_messages
freehca_x86_messages:
    .rept 16
    call take_message
    .balign 8
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
    movq 72(%rsp), %rdi             // an address in the entry
    subq $freehca_x86_messages, %rdi
    shrq $3, %rdi
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

    .global freehca_x86_spurious
freehca_x86_spurious:
    iretq

    .section .note.GNU-stack, "", @progbits
