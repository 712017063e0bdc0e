// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

namespace freehca::model {

/// Which work request of which queue pair.
struct request_place {
  std::uint32_t qpn = 0;
  std::uint16_t index = 0;
};

/// Who uses the keys of memory regions.
class key_users {
 public:
  virtual ~key_users() = default;
  /// A send that is under way and names the local key `lkey`.
  virtual std::optional<request_place> send_under(std::uint32_t lkey) const = 0;
};

}  // namespace freehca::model
