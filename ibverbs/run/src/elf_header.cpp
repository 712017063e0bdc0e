// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "elf_header.hpp"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <bit>
#include <cstring>

namespace freehca::run {
namespace {

constexpr unsigned char own_word_size = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char own_byte_order =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
constexpr std::size_t longest_loader = 4096;

/// Reads `size` bytes. False: the file ends before, or an offset is beyond what files have.
bool read_at(int descriptor, void* to, std::size_t size, std::uint64_t offset) {
  const ssize_t n = pread(descriptor, to, size, static_cast<off_t>(offset));
  return n >= 0 && static_cast<std::size_t>(n) == size;
}

/// Reads the loader's name from the program headers. False: the file is cut.
bool read_loader(int descriptor, const ElfW(Ehdr) & header, std::string& to) {
  for (unsigned i = 0; i != header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!read_at(descriptor, &segment, sizeof segment,
                 header.e_phoff + std::uint64_t{i} * header.e_phentsize))
      return false;
    if (segment.p_type != PT_INTERP) continue;
    if (segment.p_filesz == 0 || segment.p_filesz > longest_loader) return false;
    to.resize(segment.p_filesz);
    if (!read_at(descriptor, to.data(), to.size(), segment.p_offset)) return false;
    to.resize(std::strlen(to.c_str()));
    return true;
  }
  return true;
}

}  // namespace

std::optional<elf_header> read_elf_header(int descriptor) {
  ElfW(Ehdr) header;
  if (!read_at(descriptor, header.e_ident, sizeof header.e_ident, 0) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return {};
  elf_header found{header.e_ident[EI_CLASS], header.e_ident[EI_DATA]};
  if (found.byte_order != own_byte_order) return found;
  // e_machine has the same place in both word sizes.
  decltype(header.e_machine) machine = 0;
  if (!read_at(descriptor, &machine, sizeof machine, offsetof(ElfW(Ehdr), e_machine))) return {};
  found.machine = machine;
  if (found.word_size != own_word_size) return found;
  if (!read_at(descriptor, &header, sizeof header, 0)) return {};
  if (!read_loader(descriptor, header, found.loader)) return {};
  return found;
}

std::optional<elf_header> own_elf_header() {
  const int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (self < 0) return {};
  std::optional<elf_header> header = read_elf_header(self);
  close(self);
  return header;
}

}  // namespace freehca::run
