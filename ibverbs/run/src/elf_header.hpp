// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <elf.h>

#include <optional>
#include <string>

namespace freehca::run {

/// What the launcher asks of an ELF file.
struct elf_header {
  unsigned char word_size = 0;   ///< e_ident[EI_CLASS]
  unsigned char byte_order = 0;  ///< e_ident[EI_DATA]
  unsigned machine = 0;          ///< 0: a byte order that is not this machine's
  /// The dynamic loader that PT_INTERP names; empty: a static program, or a library.
  std::string loader = {};

  bool same_machine(const elf_header& other) const {
    return word_size == other.word_size && byte_order == other.byte_order &&
           machine == other.machine;
  }
};

/// Reads the header of an open file. No value: it is no ELF file, or it is cut. A header of another
/// word size or byte order has no loader.
std::optional<elf_header> read_elf_header(int descriptor);

/// The header of the launcher. No value: /proc is not mounted.
std::optional<elf_header> own_elf_header();

}  // namespace freehca::run
