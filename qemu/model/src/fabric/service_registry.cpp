// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/service_registry.hpp"

#include <algorithm>
#include <cstring>

namespace freehca::model {

using namespace layouts;
using l = service_record;
namespace component = record_component;

namespace {

constexpr std::uint64_t for_ever = 0xffffffff, second_ns = 1'000'000'000;

bool same(const std::byte* a, const std::byte* b, std::size_t bytes) {
  return std::memcmp(a, b, bytes) == 0;
}

/// The identity of a service: identifier, GID and P_Key.
bool same_service(const service_registry::record& a, const service_registry::record& b) {
  return a.get<&l::service_id>() == b.get<&l::service_id>() &&
         a.get<&l::service_pkey>() == b.get<&l::service_pkey>() &&
         same(a.bytes_of<&l::service_gid>(), b.bytes_of<&l::service_gid>(), 16);
}

}  // namespace

void service_registry::drop_ended() {
  const std::uint64_t now = work_.now();
  std::erase_if(services_, [now](const service& s) { return s.ends <= now; });
}

sa_status service_registry::add(const record& r) {
  drop_ended();
  const auto lease = r.get<&l::service_lease>();
  const std::uint64_t ends =
      lease == for_ever ? environment::never : work_.now() + lease * second_ns;
  for (service& s : services_)
    if (same_service(s.about, r)) {
      if (!same(s.about.bytes_of<&l::service_key>(), r.bytes_of<&l::service_key>(), 16))
        return sa_status::request_denied;
      s = {r, ends};
      return sa_status::success;
    }
  if (services_.size() == services_at_most) return sa_status::no_resources;
  services_.push_back({r, ends});
  return sa_status::success;
}

sa_status service_registry::remove(const record& r) {
  drop_ended();
  const auto found = std::find_if(services_.begin(), services_.end(),
                                  [&r](const service& s) { return same_service(s.about, r); });
  if (found == services_.end()) return sa_status::no_records;
  if (!same(found->about.bytes_of<&l::service_key>(), r.bytes_of<&l::service_key>(), 16))
    return sa_status::request_denied;
  services_.erase(found);
  return sa_status::success;
}

std::vector<service_registry::record> service_registry::query(const record& wanted,
                                                              std::uint64_t components) {
  drop_ended();
  const auto has = [components](std::uint64_t bit) { return (components & bit) != 0; };
  std::vector<record> found;
  for (const service& s : services_) {
    const record& r = s.about;
    if ((has(component::service_id) && r.get<&l::service_id>() != wanted.get<&l::service_id>()) ||
        (has(component::service_gid) &&
         !same(r.bytes_of<&l::service_gid>(), wanted.bytes_of<&l::service_gid>(), 16)) ||
        (has(component::service_pkey) &&
         r.get<&l::service_pkey>() != wanted.get<&l::service_pkey>()) ||
        (has(component::service_name) &&
         !same(r.bytes_of<&l::service_name>(), wanted.bytes_of<&l::service_name>(), 64)))
      continue;
    found.push_back(r);
  }
  return found;
}

}  // namespace freehca::model
