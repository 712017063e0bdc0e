// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <vector>

#include "saving/fields.hpp"

namespace freehca::model {

/// A packet as it stands on its link from the first byte of the link's own header (InfiniBand: the
/// LRH) to the last byte of the payload and its padding, without ICRC and VCRC: those are computed
/// where a packet leaves the process. One format everywhere inside the model, so that what is
/// tested in loopback is what a peer receives. Link codecs, ports and their agents know its
/// headers.
struct packet {
  std::vector<std::byte> bytes;
  unsigned priority = 0;  ///< as path::queue_priority

  using saved = saving::fields<&packet::bytes, &packet::priority>;
};

}  // namespace freehca::model
