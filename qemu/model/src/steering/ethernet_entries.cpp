// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "steering/ethernet_entries.hpp"

namespace freehca::model {

using namespace layouts;

void ethernet_entries::wrote(std::uint32_t index, const image<mcg_header>& head) {
  if (head.get<&mcg_header::protocol>() != mcg_protocol::ethernet ||
      head.get<&mcg_header::members_count>() == 0) {
    written_.erase(index);
    return;
  }
  if (written_.size() >= most && !written_.contains(index)) {
    overflowed_ = true;
    return;
  }
  written_.insert_or_assign(index, gid::from_bytes(head.bytes_of<&mcg_header::gid>()));
}

void ethernet_entries::clear() {
  written_.clear();
  overflowed_ = false;
  promiscuous_ = {};
}

const char* ethernet_entries::broken_invariant() const {
  constexpr unsigned log_largest_entry = 12;
  constexpr std::size_t members_most = mcg_members_per_entry(log_largest_entry);
  if (written_.size() > most) return "more entries than are remembered";
  for (const auto& of_port : promiscuous_)
    for (const member_list& members : of_port)
      if (members.size() > members_most) return "more members than an entry holds";
  return nullptr;
}

}  // namespace freehca::model
