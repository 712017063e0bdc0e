// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "link/wire_form.hpp"

namespace freehca::model {

std::vector<std::byte> to_wire(const packet& p) {
  return packets::to_wire(p.bytes);
}

arrival from_wire(std::span<const std::byte> bytes, packet& p) {
  const arrival what = packets::check(bytes);
  if (what != arrival::good) return what;
  const auto content = packets::content_of(bytes);
  p.bytes.assign(content.begin(), content.end());
  return what;
}

arrival from_wire(std::vector<std::byte>&& bytes, packet& p) {
  const arrival what = packets::check(bytes);
  if (what != arrival::good) return what;
  bytes.resize(packets::content_of(bytes).size());
  p.bytes = std::move(bytes);
  return what;
}

bool is_icrc_of(const packet& p, const std::byte* at) {
  return packets::is_invariant_crc_of(p.bytes, at);
}

}  // namespace freehca::model
