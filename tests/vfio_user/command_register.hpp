// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/hcr.hpp>

#include "served_program.hpp"

namespace freehca::vfio_user {

/// Writes a firmware command into the command register.
inline void post_command(served& s, layouts::opcode what, std::uint64_t output, bool toggle) {
  using layouts::hcr;
  layouts::image<hcr> h;
  h.set<&hcr::out_param>(output).set<&hcr::token>(layouts::polled_token);
  h.set<&hcr::go>(true).set<&hcr::t>(toggle).set<&hcr::opcode>(what);
  for (std::uint32_t at = 0; at < hcr::bytes; at += 4)
    s.write_register(layouts::bar0::hcr + at, layouts::load_be<std::uint32_t>(h.data() + at));
}

/// The register's last word, with GO and status.
inline layouts::image<layouts::hcr> command_word(served& s) {
  layouts::image<layouts::hcr> h;
  layouts::store_be(h.data() + 0x18, s.read_register(layouts::bar0::hcr_status));
  return h;
}

/// A firmware command by the command register, polled to its end.
inline layouts::command_status run_command(served& s, layouts::opcode what, std::uint64_t output,
                                           bool toggle) {
  using layouts::hcr;
  post_command(s, what, output, toggle);
  layouts::image<hcr> h = command_word(s);
  for (int i = 0; i < 10000 && h.get<&hcr::go>(); ++i) h = command_word(s);
  EXPECT_FALSE(h.get<&hcr::go>());
  return h.get<&hcr::status>();
}

}  // namespace freehca::vfio_user
