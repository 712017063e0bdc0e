// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/layouts/headers.hpp>

namespace freehca::model {

class link_codec;

/// How a packet came: by which port, in which form, and where its addresses stand. Points into the
/// packet. What the addresses mean is the codec's to say.
struct ingress {
  unsigned port = 1;
  const link_codec* codec = nullptr;       ///< who unwrapped it
  const std::byte* link_header = nullptr;  ///< for the codec alone: InfiniBand's is the LRH
  const std::byte* grh = nullptr;          ///< 40 bytes; null: it came without

  bool global() const { return grh != nullptr; }
  /// 16 bytes each, when global.
  const std::byte* sgid() const { return grh + layouts::grh{}.sgid.offset; }
  const std::byte* dgid() const { return grh + layouts::grh{}.dgid.offset; }
};

}  // namespace freehca::model
