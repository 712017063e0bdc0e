// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The functions that lwIP calls and does not have: of a C library, of a clock, and for a broken
// assertion.
#include <cstddef>
#include <cstdint>

#include <lwip/sys.h>

#include <freehca/bare/console.hpp>
#include <freehca/bare/machine.hpp>

namespace {

constexpr std::uint64_t millisecond = 1'000'000;

}  // namespace

extern "C" {

unsigned char* freehca_web_heap;

std::size_t strlen(const char* text) {
  const char* at = text;
  while (*at != '\0') ++at;
  return static_cast<std::size_t>(at - text);
}

int strncmp(const char* a, const char* b, std::size_t most) {
  for (; most != 0; --most, ++a, ++b)
    if (*a != *b || *a == '\0')
      return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
  return 0;
}

u32_t sys_now() {
  return static_cast<u32_t>(freehca::bare::machine::now() / millisecond);
}

/// One step each 4 microseconds (RFC 9293, 3.4.1). A secret is not part of it, because the machine
/// has no source of random numbers.
u32_t freehca_web_sequence_number() {
  return static_cast<u32_t>(freehca::bare::machine::now() / 4000);
}

void freehca_web_assertion_failed(const char* text) {
  freehca::bare::line("ASSERTION") << "of lwIP: " << text;
  freehca::bare::fault();
}
}
