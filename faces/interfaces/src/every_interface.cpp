// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The list of all interfaces. A new interface is one line here, and a file in this folder.
#include <freehca/interfaces/every_interface.hpp>

namespace freehca {

namespace {

constexpr const offered_interface* every_interface[] = {
    &protection_domain_offered, &address_handle_offered,       &memory_region_offered,
    &completion_queue_offered,  &shared_receive_queue_offered, &queue_pair_offered,
};

}  // namespace

status query_interface(const char* name, std::uint32_t version, interface_head* table,
                       std::uint32_t bytes) {
  return find_interface(every_interface, name, version, table, bytes);
}

}  // namespace freehca
