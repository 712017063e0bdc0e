// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "management_structures.hpp"

#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/smp.hpp>

namespace freehca::recording {

using namespace layouts;

namespace {

/// The header of a subnet management packet, without its data.
struct smp_header : mad_rows, mad_status_rows {
  static constexpr std::size_t bytes = smp{}.data.offset;
  bits mkey = smp{}.mkey;
};

template <class T>
structure of(const char* name) {
  return {name, T::bytes, table<T>.row, rows<T>::count};
}

}  // namespace

std::vector<placed> output_of(const record& command, const std::vector<std::byte>& mailbox) {
  std::vector<placed> all = mailbox_of(command, true);
  if (command.opcode != opcode::mad_ifc || mailbox.size() < mad_bytes) return all;
  const auto head = image<smp>::from_bytes(mailbox.data());
  all = {{of<smp_header>("smp"), 0}};
  const auto attribute = [&all]<class T>(const char* name, T) {
    all.push_back({of<T>(name), smp{}.data.offset});
  };
  switch (static_cast<smp_attribute>(head.get<&smp::attribute_id>())) {
    case smp_attribute::node_info:
      attribute("node_info", node_info{});
      break;
    case smp_attribute::node_description:
      attribute("node_description", node_description{});
      break;
    case smp_attribute::port_info:
      attribute("port_info", port_info{});
      break;
    case smp_attribute::guid_info:
      attribute("guid_info", guid_info{});
      break;
    case smp_attribute::pkey_table:
      attribute("pkey_table", pkey_table{});
      break;
    case smp_attribute::sm_info:
      attribute("sm_info", sm_info{});
      break;
    default:
      break;
  }
  return all;
}

}  // namespace freehca::recording
