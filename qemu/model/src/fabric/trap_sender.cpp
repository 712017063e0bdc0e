// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/trap_sender.hpp"

#include <algorithm>

namespace freehca::model {

using namespace layouts;

void trap_sender::raise_bytes(const std::byte* notice) {
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
  pending_.emplace(next_transaction_, p);
  send(next_transaction_++);
}

void trap_sender::send(std::uint64_t transaction_id) {
  const auto found = pending_.find(transaction_id);
  if (found == pending_.end()) return;
  if (found->second.sent++ == sent_at_most) {
    pending_.erase(found);
    return;
  }
  found->second.again = work_.after(repeat_after_ns, {.kind = repeat, .value = transaction_id});
  send_(found->second.mad);
}

void trap_sender::repressed(std::uint64_t transaction_id) {
  const auto found = pending_.find(transaction_id);
  if (found == pending_.end()) return;
  work_.cancel(found->second.again);
  pending_.erase(found);
}

void trap_sender::clear() {
  for (auto& [id, p] : pending_) work_.cancel(p.again);
  pending_.clear();
}

}  // namespace freehca::model
