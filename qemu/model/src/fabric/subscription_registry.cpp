// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/subscription_registry.hpp"

#include <algorithm>
#include <cstring>

namespace freehca::model {

using namespace layouts;
using l = inform_info_record;

std::vector<subscription_registry::record>::iterator subscription_registry::find(
    const gid_bytes& subscriber, const wish& w) {
  // The same wish, whether it subscribes or ends that, and by whatever queue pair.
  const auto plain = [](wish one) {
    return one.set<&inform_info::subscribe>(0)
        .set<&inform_info::qpn>(0)
        .set<&inform_info::resp_time>(0);
  };
  return std::find_if(all_.begin(), all_.end(), [&](const record& r) {
    return std::memcmp(r.bytes_of<&l::subscriber_gid>(), subscriber.data(), subscriber.size()) ==
               0 &&
           plain(wish::from_bytes(r.bytes_of<&l::inform>())) == plain(w);
  });
}

sa_status subscription_registry::add(const gid_bytes& subscriber, const wish& w) {
  if (const auto known = find(subscriber, w); known != all_.end()) {
    known->set_bytes<&l::inform>(w.data());
    return sa_status::success;
  }
  if (all_.size() == subscriptions_at_most) return sa_status::no_resources;
  std::uint64_t number = 0;
  for (const record& r : all_)
    if (std::memcmp(r.bytes_of<&l::subscriber_gid>(), subscriber.data(), subscriber.size()) == 0)
      number = r.get<&l::subscriber_enum>() + 1;
  all_.push_back(record{}
                     .set_bytes<&l::subscriber_gid>(subscriber.data())
                     .set<&l::subscriber_enum>(number & 0xffff)
                     .set_bytes<&l::inform>(w.data()));
  return sa_status::success;
}

sa_status subscription_registry::remove(const gid_bytes& subscriber, const wish& w) {
  const auto known = find(subscriber, w);
  if (known == all_.end()) return sa_status::request_invalid;
  all_.erase(known);
  return sa_status::success;
}

std::vector<subscription_registry::record> subscription_registry::query(
    const record& wanted, std::uint64_t components) const {
  const auto has = [components](std::uint64_t bit) { return (components & bit) != 0; };
  std::vector<record> found;
  for (const record& r : all_) {
    if ((has(record_component::subscriber_gid) &&
         std::memcmp(r.bytes_of<&l::subscriber_gid>(), wanted.bytes_of<&l::subscriber_gid>(), 16) !=
             0) ||
        (has(record_component::subscriber_enum) &&
         r.get<&l::subscriber_enum>() != wanted.get<&l::subscriber_enum>()))
      continue;
    found.push_back(r);
  }
  return found;
}

}  // namespace freehca::model
