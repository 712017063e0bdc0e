/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright the freehca authors */
/* The code of an expansion ROM that boots a Linux kernel out of the same ROM. boot_rom.py gives the
 * symbols in capitals, sets the two checksums and puts the kernel behind.
 *
 * The machine's firmware copies this much below 1 MiB and calls `init`, then `boot` when the
 * adapter's turn in the boot order comes. The kernel stays in the adapter and is read through the
 * ROM's BAR. Addresses are offsets into the ROM, whose segment is CS. */

        .code16
        .text
start_of_rom:
/* Header of the ROM (PCI Firmware Specification 3.0, 5.1). */
        .byte   0x55, 0xaa
        .byte   (code_end - start_of_rom) / 512
        jmp     init
        .org    0x18
        .word   pci_data
        .word   pnp_header

        .balign 4, 0
pci_data:
        .ascii  "PCIR"
        .word   VENDOR, DEVICE
        .word   0                       /* no list of device names */
        .word   pci_data_end - pci_data
        .byte   0                       /* revision of this structure */
        .byte   0, 0, 2                 /* network controller */
        .word   ROM_SECTORS             /* in units of 512 bytes, with the kernel */
        .word   0                       /* revision of the code */
        .byte   0                       /* for PCs */
        .byte   0x80                    /* the last image */
        .word   0
pci_data_end:

/* Header of the BIOS Boot Specification 1.01, 3.3: it names a place to boot from. */
        .balign 16, 0
pnp_header:
        .ascii  "$PnP"
        .byte   1
        .byte   (pnp_end - pnp_header) / 16
        .word   0                       /* no further header */
        .byte   0
        .byte   0                       /* makes the sum zero */
        .long   0
        .word   0
        .word   product
        .byte   2, 0, 0                 /* network controller */
        .byte   0x14                    /* a device to boot from, and needed for that alone */
        .word   0, 0
        .word   boot
        .word   0
        .word   0
pnp_end:

product:
        .asciz  "boot_rom"

own_address:    .word 0

/* AX has bus, device and function. The copy can be written until init returns; its sum has to stay
 * zero, or the firmware forgets it. */
init:
        movw    %ax, %cs:own_address
        subb    %al, %cs:rom_checksum
        subb    %ah, %cs:rom_checksum
        movw    $0x20, %ax              /* has a place to boot from */
        lret

boot:
        cld
        xorw    %ax, %ax
        movw    %ax, %ss
        movw    $0x7c00, %sp
        movw    %ax, %es

        /* EBP: the address in the ROM's BAR, which has to be switched on. */
        movzwl  %cs:own_address, %eax
        shll    $8, %eax
        orl     $0x80000030, %eax
        movw    $0xcf8, %dx
        outl    %eax, %dx
        movw    $0xcfc, %dx
        inl     %dx, %eax
        orl     $1, %eax
        outl    %eax, %dx
        movl    %eax, %ebp
        andl    $0xfffff800, %ebp

        leal    SETUP_AT(%ebp), %eax
        movl    $0x10000, %ebx
        movw    $SETUP_PIECES, %cx
        call    copy
        leal    SYSTEM_AT(%ebp), %eax
        movl    $0x100000, %ebx
        movw    $SYSTEM_PIECES, %cx
        call    copy

        /* Linux's boot protocol: an unnamed loader, and the kernel's entry. */
        movw    $0x1000, %ax
        movw    %ax, %ds
        movw    %ax, %es
        movb    $0xff, 0x210
        ljmp    $0x1020, $0

/* Copies CX pieces of 32 KiB from EAX to EBX, by the firmware's service for memory above 1 MiB. It
 * wants six descriptors at ES:SI; all but those of source and destination are its own. */
copy:
        pushw   %cx
        pushl   %eax
        pushl   %ebx
        movw    $0x7c00, %si
        movw    %si, %di
        pushl   %eax
        xorw    %ax, %ax
        movw    $24, %cx
        rep stosw
        popl    %eax
        leaw    0x10(%si), %di
        call    describe
        movl    %ebx, %eax
        leaw    0x18(%si), %di
        call    describe
        movw    $0x4000, %cx            /* words */
        movb    $0x87, %ah
        int     $0x15
        popl    %ebx
        popl    %eax
        popw    %cx
        jc      failed
        addl    $0x8000, %eax
        addl    $0x8000, %ebx
        loop    copy
        ret

/* Fills the descriptor at ES:DI: 64 KiB of data from EAX on. */
describe:
        movw    $0xffff, %es:(%di)
        movl    %eax, %es:2(%di)
        movb    $0x93, %es:5(%di)
        shrl    $24, %eax
        movb    %al, %es:7(%di)
        ret

failed: hlt
        jmp     failed

        .org    1023
rom_checksum:
        .byte   0                       /* makes the sum zero */
code_end:
