// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A peer as a line of text: the bytes of easy::write() in hexadecimal.
#pragma once

#include <cstdio>

#include <freehca/easy/easy.hpp>

inline freehca::status print_line(const freehca::easy::peer& p) {
  std::byte form[freehca::easy::peer_bytes];
  FREEHCA_TRY(freehca::easy::write(p, form));
  for (const std::byte byte : form) std::printf("%02x", std::to_integer<unsigned>(byte));
  std::printf("\n");
  std::fflush(stdout);
  return {};
}

/// Reads a line of print_line() from standard input. Errors: those of easy::read().
inline freehca::status scan_line(freehca::easy::peer& p) {
  std::byte form[freehca::easy::peer_bytes];
  for (std::byte& byte : form) {
    unsigned value = 0;
    if (std::scanf("%2x", &value) != 1) return freehca::driver_error::wrong_size;
    byte = static_cast<std::byte>(value);
  }
  return freehca::easy::read(form, sizeof form, p);
}
