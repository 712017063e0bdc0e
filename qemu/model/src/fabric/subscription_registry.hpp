// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <vector>

#include <freehca/layouts/notice.hpp>
#include <freehca/layouts/sa.hpp>

#include "fabric/subnet_topology.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// Who has asked subnet administration to be told of which notices (IBTA vol. 1, 13.4.11 and
/// 15.2.5.12).
class subscription_registry {
 public:
  using wish = layouts::image<layouts::inform_info>;
  using record = layouts::image<layouts::inform_info_record>;

  /// A wish that is there already is taken again, and stays one.
  layouts::sa_status add(const gid_bytes& subscriber, const wish& w);
  /// request_invalid: nobody has asked for that (OpenSM osm_sa_informinfo.c).
  layouts::sa_status remove(const gid_bytes& subscriber, const wish& w);
  std::vector<record> query(const record& wanted, std::uint64_t components) const;
  void clear() { all_.clear(); }

 private:
  static constexpr std::size_t subscriptions_at_most = 256;  // no source: chosen
  std::vector<record>::iterator find(const gid_bytes& subscriber, const wish& w);
  std::vector<record> all_;

 public:
  using saved = saving::fields<&subscription_registry::all_>;
  const char* broken_invariant() const {
    return all_.size() <= subscriptions_at_most ? nullptr : "there are too many subscriptions";
  }
};

}  // namespace freehca::model
