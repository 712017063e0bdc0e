// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The core has a flavour for each way to access the adapter. The accessors are inline, so an object
// of one flavour must not be linked with the archives of another. Each object that can access the
// adapter therefore refers to a symbol that only the core of its own flavour defines.
#pragma once

#if defined(FREEHCA_ACCESS_ROUTED)
#define FREEHCA_FLAVOUR_NAME "routed"
#elif defined(FREEHCA_ACCESS_REGISTERS_ROUTED)
#define FREEHCA_FLAVOUR_NAME "registers_routed"
#elif defined(FREEHCA_INCOHERENT_DMA)
#define FREEHCA_FLAVOUR_NAME "direct_with_incoherent_dma"
#else
#define FREEHCA_FLAVOUR_NAME "direct"
#endif

/// The core of every flavour defines this symbol, so that no two of them can be linked together.
#define FREEHCA_FLAVOUR_SYMBOL "freehca_core_was_built_with_another_access_flavour"
/// Only the core of this flavour defines this symbol.
#define FREEHCA_OWN_FLAVOUR_SYMBOL FREEHCA_FLAVOUR_SYMBOL "__this_object_is_" FREEHCA_FLAVOUR_NAME

// An ELF note that is not loaded takes no byte of the program, and --gc-sections keeps it. The
// description of the note is the address of the symbol, because GNU ld reports an undefined symbol
// only if something refers to it. lld does not report an undefined symbol to which only an unloaded
// section refers. lld therefore reports two cores in one program, but not a core of the wrong
// flavour.
__asm__(
    ".pushsection .note.freehca_access_flavour, \"\", @note\n"
    ".balign 4\n"
    ".4byte 8, 8, 0x100\n"
    ".asciz \"freehca\"\n"
    ".8byte " FREEHCA_OWN_FLAVOUR_SYMBOL
    "\n"
    ".popsection");
