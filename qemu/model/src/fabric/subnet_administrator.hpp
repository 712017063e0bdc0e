// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "basis/scheduler.hpp"
#include "fabric/mad_packet.hpp"
#include "fabric/multicast_registry.hpp"
#include "fabric/rmpp_sender.hpp"
#include "fabric/service_registry.hpp"
#include "fabric/subnet_topology.hpp"
#include "fabric/subscription_registry.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// Records on their way into a table: each is padded to a multiple of 8 bytes.
class record_table {
 public:
  template <class T>
  void add(const layouts::image<T>& record) {
    offset_ = layouts::attribute_offset_of(T::bytes);
    const std::size_t step = offset_ * std::size_t{8};
    bytes_.resize(++count_ * step);
    std::copy_n(record.data(), T::bytes, bytes_.data() + bytes_.size() - step);
  }
  template <class T>
  void add_all(const std::vector<layouts::image<T>>& records) {
    offset_ = layouts::attribute_offset_of(T::bytes);
    for (const auto& r : records) add(r);
  }
  std::size_t count() const { return count_; }
  unsigned attribute_offset() const { return offset_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t count_ = 0;
  unsigned offset_ = 0;
};

/// Subnet administration, class 3 (IBTA vol. 1, chapter 15), as far as the hosts of one small
/// subnet ask: ClassPortInfo, NodeRecord, PortInfoRecord, GuidInfoRecord, P_KeyTableRecord,
/// SMInfoRecord, PathRecord, MCMemberRecord, ServiceRecord, LinkRecord, InformInfo,
/// InformInfoRecord. Anything else gets the status that says so.
class subnet_administrator {
 public:
  /// `send` puts a packet on the link. All must outlive the object.
  subnet_administrator(scheduler& work, const std::string& owner, const subnet_topology& subnet,
                       std::function<void(const mad_packet&)> send);

  /// A MAD of class 3 has come to QP1.
  void receive(const mad_packet& m);
  /// Sends `mad` as the answer to `request`.
  void send_back(const mad_packet& request, const mad_buffer& mad) const;
  /// The link went up or down: nothing that was asked for before counts any more.
  void link_changed();

 private:
  using sa_mad = layouts::sa_mad;
  struct outcome {
    std::uint16_t status = 0;
    record_table records;
  };
  outcome answer(const mad_packet& m, const layouts::image<sa_mad>& request);
  outcome class_port_info() const;
  outcome inform_info(const mad_packet& m, const layouts::image<sa_mad>& request);
  outcome subscriptions(const layouts::image<sa_mad>& request) const;
  outcome links(const layouts::image<sa_mad>& request) const;
  outcome multicast(const layouts::image<sa_mad>& request);
  outcome services(const layouts::image<sa_mad>& request);
  outcome nodes(const layouts::image<sa_mad>& request) const;
  outcome port_infos(const layouts::image<sa_mad>& request) const;
  outcome guid_infos(const layouts::image<sa_mad>& request) const;
  outcome pkey_tables(const layouts::image<sa_mad>& request) const;
  outcome sm_infos(const layouts::image<sa_mad>& request) const;
  outcome paths(const layouts::image<sa_mad>& request) const;
  mad_packet way_back(const mad_packet& request) const;

  const subnet_topology& subnet_;
  std::function<void(const mad_packet&)> send_;
  scheduler& work_;
  multicast_registry multicast_;
  service_registry services_;
  subscription_registry subscriptions_;
  rmpp_sender tables_;

 public:
  using saved =
      saving::fields<&subnet_administrator::multicast_, &subnet_administrator::services_,
                     &subnet_administrator::subscriptions_, &subnet_administrator::tables_>;
  static constexpr saving::unsaved_member unsaved[] = {{"send_", "a function set at construction"}};
};

}  // namespace freehca::model
