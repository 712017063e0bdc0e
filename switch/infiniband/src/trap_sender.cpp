// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/infiniband_switch/trap_sender.hpp>

#include <algorithm>

namespace freehca::infiniband_switch {

using namespace layouts;

void trap_sender::raise_bytes(const std::byte* notice, std::uint64_t now) {
  if (pending_.size() >= pending_at_most) return;
  image<smp> m;
  m.set<&smp::base_version>(mad_base_version)
      .set<&smp::mgmt_class>(mad_class::subnet_lid_routed)
      .set<&smp::class_version>(1)
      .set<&smp::method>(mad_method::trap)
      .set<&smp::tid>(next_transaction_)
      .set<&smp::attribute_id>(static_cast<unsigned>(smp_attribute::notice))
      .set_bytes<&smp::data>(notice);
  pending p;
  std::copy_n(m.data(), p.mad.size(), p.mad.begin());
  p.again_at = now;
  pending_.emplace(next_transaction_++, p);
  run(now);
}

void trap_sender::run(std::uint64_t now) {
  for (auto one = pending_.begin(); one != pending_.end();) {
    pending& p = one->second;
    if (p.again_at > now) {
      ++one;
    } else if (p.sent++ == sent_at_most) {
      one = pending_.erase(one);
    } else {
      p.again_at = now + repeat_after_ns;
      send_(p.mad);
      ++one;
    }
  }
}

std::uint64_t trap_sender::deadline() const {
  std::uint64_t first = never;
  for (const auto& [id, p] : pending_) first = std::min(first, p.again_at);
  return first;
}

}  // namespace freehca::infiniband_switch
