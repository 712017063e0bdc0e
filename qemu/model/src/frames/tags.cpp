// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/tags.hpp"

#include <array>

#include <freehca/layouts/ethernet.hpp>

namespace freehca::model {

void insert_tag(frame& f, std::uint16_t type, std::uint16_t tag) {
  if (f.bytes.size() < layouts::ethernet_addresses::bytes) return;
  std::array<std::byte, layouts::vlan_tag::bytes> bytes{};
  layouts::store_be(bytes.data(), type);
  layouts::store_be(bytes.data() + 2, tag);
  f.bytes.insert(f.bytes.begin() + layouts::ethernet_addresses::bytes, bytes.begin(), bytes.end());
}

}  // namespace freehca::model
