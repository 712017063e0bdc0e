// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>

#include "configuration_space.hpp"

namespace freehca::device_server {

/// Vital product data: contents as in the captures of CX-2 and CX-3, and the two registers through
/// which a host reads them (docs/hardware-pci.md).
class product_data {
 public:
  static constexpr unsigned bytes = 4096;

  product_data(const identity& card, unsigned ports, std::uint64_t node_guid);

  /// Called after a write to the address register. Does the transfer that this write starts.
  void address_written(configuration_space& space);

  template <class Archive>
  void transfer_state(Archive& archive) {
    archive.bytes(data_.data(), data_.size());
  }

 private:
  std::array<std::uint8_t, bytes> data_{};
  unsigned first_writable_ = 0;
};

}  // namespace freehca::device_server
