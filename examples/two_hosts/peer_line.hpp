// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A peer as a line of text: numbers, and the GID in hexadecimal.
#pragma once

#include <cstdio>

#include <freehca/easy/easy.hpp>

inline void print_line(const freehca::easy::peer& p) {
  std::printf("%u %u %u %u %u %u %u ", unsigned{p.lid}, p.qpn, p.qkey, p.psn,
              static_cast<unsigned>(p.mtu), unsigned{p.sl}, unsigned{p.pkey});
  for (const std::uint8_t byte : p.gid.raw) std::printf("%02x", unsigned{byte});
  std::printf("\n");
  std::fflush(stdout);
}

/// Reads a line of print_line() from standard input. Returns false if the line is malformed.
inline bool scan_line(freehca::easy::peer& p) {
  unsigned lid = 0, mtu = 0, sl = 0, pkey = 0;
  if (std::scanf("%u %u %u %u %u %u %u ", &lid, &p.qpn, &p.qkey, &p.psn, &mtu, &sl, &pkey) != 7)
    return false;
  p.lid = static_cast<std::uint16_t>(lid);
  p.mtu = static_cast<freehca::layouts::ib_mtu>(mtu);
  p.sl = static_cast<std::uint8_t>(sl);
  p.pkey = static_cast<std::uint16_t>(pkey);
  for (std::uint8_t& byte : p.gid.raw) {
    unsigned value = 0;
    if (std::scanf("%2x", &value) != 1) return false;
    byte = static_cast<std::uint8_t>(value);
  }
  return true;
}
