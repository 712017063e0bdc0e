// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/qpc.hpp>

#include "frames/frame_view.hpp"

namespace freehca::model {

/// Which of an RSS queue pair's rings gets a frame, and the hash that its completion tells.
struct spread {
  std::uint32_t qpn = 0, hash = 0;
};

/// `hash_fragments`: what INIT_HCA chose for fragments of IP.
spread spread_of(const layouts::image<layouts::qpc>& context, const frame_view& f,
                 bool hash_fragments);

/// The parameters of RSS that stand in a context.
inline layouts::image<layouts::rss_context> rss_of(const layouts::image<layouts::qpc>& context) {
  return layouts::image<layouts::rss_context>::from_bytes(context.data() +
                                                          layouts::rss_context_offset);
}

}  // namespace freehca::model
