// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <vector>

#include <freehca/layouts/sa.hpp>

#include "fabric/subnet_topology.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// The multicast groups of the subnet (IBTA vol. 1, 15.2.5.17): creation, joining, leaving,
/// queries. The group that IPoIB broadcasts in exists from the start, as subnet managers make it.
class multicast_registry {
 public:
  using record = layouts::image<layouts::mcmember_record>;
  explicit multicast_registry(const subnet_topology& subnet);

  /// Each gives the class status; on success `r` holds the answer.
  layouts::sa_status join(record& r, std::uint64_t components);
  layouts::sa_status leave(record& r, std::uint64_t components);
  /// What matches. A requester that is not trusted sees groups without their members.
  std::vector<record> query(const record& wanted, std::uint64_t components, bool trusted) const;
  void clear();
  /// Groups and memberships: what a walk over all of them passes.
  std::size_t size() const { return groups_.size() + memberships_; }

 private:
  static constexpr std::size_t groups_at_most = 1024, memberships_at_most = 2048;
  struct member {
    gid_bytes port_gid;
    std::uint8_t join_state;
    bool proxy;

    using saved = saving::fields<&member::port_gid, &member::join_state, &member::proxy>;
    const char* broken_invariant() const {
      return join_state < 16 ? nullptr : "a join state has four bits";
    }
  };
  struct group {
    record about;  ///< port_gid and join_state are zero
    std::vector<member> members;
    bool permanent = false;

    using saved = saving::fields<&group::about, &group::members, &group::permanent>;
  };
  group* find(const std::byte* mgid);
  layouts::sa_status create(const record& r, std::uint64_t components, group*& made);
  std::uint16_t free_mlid() const;

  const subnet_topology& subnet_;
  std::vector<group> groups_;
  std::size_t memberships_ = 0;  ///< of all groups
  std::uint64_t made_up_ = 0;

 public:
  using saved = saving::fields<&multicast_registry::groups_, &multicast_registry::memberships_,
                               &multicast_registry::made_up_>;
  const char* broken_invariant() const;
};

/// Does `value` satisfy a query's selector? Values are put in order by `order`.
template <class V, class Order>
bool selected(layouts::sa_selector selector, V wanted, V value, Order order) {
  switch (selector) {
    case layouts::sa_selector::greater_than:
      return order(value) > order(wanted);
    case layouts::sa_selector::less_than:
      return order(value) < order(wanted);
    case layouts::sa_selector::exactly:
      return value == wanted;
    case layouts::sa_selector::best:
      return true;
  }
  return false;
}

/// Tenths of Gb/s: rates are not in the order of their codes.
unsigned tenths_of_gbps(layouts::ib_rate rate);
inline unsigned order_of(layouts::ib_mtu mtu) {
  return static_cast<unsigned>(mtu);
}

}  // namespace freehca::model
