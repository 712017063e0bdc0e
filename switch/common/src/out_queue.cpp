// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/switch_common/out_queue.hpp>

#include <utility>

namespace freehca::switch_common {

bool out_queue::put(const bytes& packet) {
  full_ = full_ || !send_(packet);
  return !full_;
}

bool out_queue::send_now(std::span<const std::byte> packet) {
  full_ = full_ || !send_(packet);
  return !full_;
}

bool out_queue::add(bytes packet, bool management) {
  if (empty() && put(packet)) return true;
  if (management) {
    if (management_.size() >= most_management) return false;
    management_.push_back(std::move(packet));
    return true;
  }
  if (data_bytes_ + packet.size() > most_bytes) return false;
  data_bytes_ += packet.size();
  data_.push_back(std::move(packet));
  return true;
}

void out_queue::send_all() {
  full_ = false;
  for (; !management_.empty(); management_.pop_front())
    if (!put(management_.front())) return;
  for (; !data_.empty(); data_.pop_front()) {
    if (!put(data_.front())) return;
    data_bytes_ -= data_.front().size();
  }
}

void out_queue::clear() {
  management_.clear();
  data_.clear();
  data_bytes_ = 0;
}

}  // namespace freehca::switch_common
