// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/access_flavour.hpp>

// These labels take no bytes.
__asm__(
    ".pushsection .text\n"
    ".globl " FREEHCA_FLAVOUR_SYMBOL "\n" FREEHCA_FLAVOUR_SYMBOL
    ":\n"
    ".globl " FREEHCA_OWN_FLAVOUR_SYMBOL "\n" FREEHCA_OWN_FLAVOUR_SYMBOL
    ":\n"
    ".popsection");
