// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// From the loader to freehca_bare_entry(). The loader enters by the PVH protocol (Xen's
// docs/misc/pvh.pandoc): 32 bits, paging off, %ebx has the address of the start info. QEMU's
// -kernel takes an ELF file with this note so, and so do other hypervisors.

    .section .note.Xen, "a", @note
    .balign 4
    .long 4, 8, 18                  // lengths of name and value; XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .quad freehca_bare_start

    .set present_writable, 3
    .set large_page, 0x80

    .section .text.start, "ax"
    .code32
    .global freehca_bare_start
freehca_bare_start:
    cli
    cld
    movl $freehca_bare_bss_begin, %edi
    movl $freehca_bare_bss_end, %ecx
    subl %edi, %ecx
    shrl $2, %ecx
    xorl %eax, %eax
    rep stosl
    movl $freehca_bare_stack_high, %esp
    movl %ebx, freehca_x86_start_info

    // The first GiB, as it stands, in pages of 2 MiB.
    movl $freehca_x86_tables + 0x1000 + present_writable, freehca_x86_tables
    movl $freehca_x86_tables + 0x2000 + present_writable, freehca_x86_tables + 0x1000
    movl $freehca_x86_tables + 0x2000, %edi
    movl $present_writable + large_page, %eax
    movl $512, %ecx
1:  movl %eax, (%edi)
    addl $0x200000, %eax
    addl $8, %edi
    loop 1b

    movl %cr4, %eax
    orl $0x620, %eax                // PAE, OSFXSR, OSXMMEXCPT: the compiler uses SSE2
    movl %eax, %cr4
    movl $freehca_x86_tables, %eax
    movl %eax, %cr3
    movl $0xc0000080, %ecx          // EFER
    rdmsr
    orl $0x100, %eax                // LME
    wrmsr
    movl %cr0, %eax
    andl $~0x6000000c, %eax         // caches on; no emulation, no task switched
    orl $0x80010023, %eax           // PG, WP, NE, MP, PE
    movl %eax, %cr0
    lgdt freehca_x86_gdt_pointer
    ljmp $8, $2f

    .code64
2:  movl $16, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    xorl %eax, %eax
    movl %eax, %fs
    movl %eax, %gs
    xorl %ebp, %ebp
    movl $freehca_bare_stack_high, %esp
    call freehca_bare_entry
    ud2

    .section .data
    .balign 8
    .global freehca_x86_gdt
freehca_x86_gdt:
    .quad 0
    .quad 0x00af9a000000ffff        // code, 64 bits
    .quad 0x00cf92000000ffff        // data
    .quad 0, 0                      // the task state, filled at run time
freehca_x86_gdt_pointer:
    .word . - freehca_x86_gdt - 1
    .quad freehca_x86_gdt

    .section .note.GNU-stack, "", @progbits
