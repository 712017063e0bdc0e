// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// From the boot loader to C++: exception level 1, two stacks, and memory with caches on. Two ways
// lead here: Linux's boot protocol (Linux 6.1 Documentation/arm64/booting.rst), which has the device
// tree in x0, and QEMU's for an ELF file, which has it where memory begins (QEMU 7.2
// docs/system/arm/virt.rst). Register fields: Arm ARM DDI 0487, D17.2.

#define TEXT_OFFSET 0x200000
#define BLOCK_SHIFT 21

    .section .text.start, "ax"
    .global freehca_bare_start
freehca_bare_start:
    b       begin
    .long   0
    .quad   TEXT_OFFSET
    .quad   freehca_bare_image_bytes
    .quad   0x2                     // little-endian, pages of 4 KiB, near the beginning of memory
    .quad   0, 0, 0
    .ascii  "ARM\x64"
    .long   0

begin:
    mov     x19, x0
    adrp    x20, freehca_bare_start             // linked at 4 KiB
    mrs     x1, CurrentEL
    cmp     x1, #0xc
    b.ne    1f
    // Level 3, where a loader without firmware leaves every processor: the first one goes on, and
    // machine::start() says that it cannot be.
    mrs     x2, mpidr_el1
    ldr     x3, =0xff00ffffff       // Aff3, Aff2, Aff1, Aff0
    tst     x2, x3
    b.ne    wait
1:  cmp     x1, #0x8
    b.ne    at_level_1
    mov     x1, #0x80000000         // HCR_EL2.RW: level 1 has 64 bits; nothing is trapped
    msr     hcr_el2, x1
    isb                             // E2H, which may have been on, says what the next ones are
    // What level 1 reads as MPIDR_EL1 and MIDR_EL1, which reset leaves unknown (Linux 6.1
    // arch/arm64/include/asm/el2_setup.h __init_el2_nvhe_idregs). The redistributor is found by the
    // first.
    mrs     x1, mpidr_el1
    msr     vmpidr_el2, x1
    mrs     x1, midr_el1
    msr     vpidr_el2, x1
    mrs     x1, cnthctl_el2
    orr     x1, x1, #0x3            // EL1PCTEN, EL1PCEN: counter and timer are level 1's too
    msr     cnthctl_el2, x1
    msr     cntvoff_el2, xzr
    mrs     x1, id_aa64pfr0_el1
    ubfx    x1, x1, #24, #4         // GIC: has the processor its registers?
    cbz     x1, 1f
    mov     x1, #0x9                // ICC_SRE_EL2: Enable, SRE: they are level 1's
    msr     s3_4_c12_c9_5, x1
    isb
    mrs     x1, s3_4_c12_c9_5
    tbz     x1, #0, 1f              // SRE did not stick: without it the next is undefined
    msr     s3_4_c12_c11_0, xzr     // ICH_HCR_EL2: none of level 1's accesses is trapped
1:  mov     x1, #0x33ff             // CPTR_EL2: only what is reserved as one
    msr     cptr_el2, x1
    mov     x1, #0x3c5              // exceptions masked, level 1 on its own stack pointer
    msr     spsr_el2, x1
    adr     x1, at_level_1
    msr     elr_el2, x1
    isb
    eret

at_level_1:
    ldr     x1, =0x30d00800         // SCTLR_EL1: what is reserved as one; no MMU, no caches
    msr     sctlr_el1, x1
    mov     x1, #0x300000           // CPACR_EL1.FPEN: the compiler uses vector registers
    msr     cpacr_el1, x1
    ldr     x1, =freehca_bare_vectors
    msr     vbar_el1, x1
    isb
    // Exceptions use SP_EL1, the rest SP_EL0: so handlers have a stack of their own.
    msr     spsel, #1
    ldr     x1, =freehca_bare_interrupt_stack_high
    mov     sp, x1
    msr     spsel, #0
    ldr     x1, =freehca_bare_stack_high
    mov     sp, x1

    ldr     x1, =freehca_bare_bss_begin
    ldr     x2, =freehca_bare_bss_end
1:  stp     xzr, xzr, [x1], #16
    cmp     x1, x2
    b.lo    1b

    // The image, block by block: three tables are enough, as it lies in one GiB (see link.ld).
    ldr     x1, =freehca_bare_tables
    add     x2, x1, #4096
    add     x3, x1, #8192
    ubfx    x4, x20, #39, #9
    orr     x5, x2, #0x3            // a table
    str     x5, [x1, x4, lsl #3]
    ubfx    x4, x20, #30, #9
    orr     x5, x3, #0x3
    str     x5, [x2, x4, lsl #3]
    lsr     x4, x20, #BLOCK_SHIFT
    ldr     x6, =freehca_bare_bss_end - 1
    lsr     x6, x6, #BLOCK_SHIFT
    ldr     x7, =0x701              // a block: normal memory (attribute 0), inner shareable, accessed
2:  orr     x5, x7, x4, lsl #BLOCK_SHIFT
    ubfx    x8, x4, #0, #9
    str     x5, [x3, x8, lsl #3]
    add     x4, x4, #1
    cmp     x4, x6
    b.ls    2b

    // All of that went to memory past the caches: what they may still hold of it must not come back.
    ldr     x4, =freehca_bare_bss_begin
    ldr     x6, =freehca_bare_bss_end
    mrs     x7, ctr_el0
    ubfx    x7, x7, #16, #4         // DminLine: words of the smallest line, a power of two
    mov     x8, #4
    lsl     x7, x8, x7
    dsb     sy
3:  dc      ivac, x4
    add     x4, x4, x7
    cmp     x4, x6
    b.lo    3b

    ldr     x2, =0x4404ff           // MAIR_EL1: see tables.cpp
    msr     mair_el1, x2
    mrs     x2, id_aa64mmfr0_el1
    and     x2, x2, #0x7            // the processor's physical addresses
    cmp     x2, #5                  // 48 bits, which is all that pages of 4 KiB give
    mov     x3, #5
    csel    x2, x2, x3, ls
    // TCR_EL1: 48 bits, one half, tables in cacheable, inner shareable memory
    ldr     x3, =0x00803510
    orr     x3, x3, x2, lsl #32
    msr     tcr_el1, x3
    msr     ttbr0_el1, x1
    dsb     sy
    tlbi    vmalle1
    ic      iallu
    dsb     sy
    isb
    mrs     x1, sctlr_el1
    mov     x2, #0x1005             // I, C, M
    orr     x1, x1, x2
    msr     sctlr_el1, x1
    isb

    mov     x0, x19
    bl      freehca_bare_find_console
    bl      freehca_bare_entry

wait:
    wfi
    b       wait
