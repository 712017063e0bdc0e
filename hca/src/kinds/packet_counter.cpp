// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/packet_counter.hpp>

#include "queue_pair_context.hpp"

namespace freehca {

using namespace layouts;

namespace {

constexpr auto count_fields = fields_of<interface_counter>(
    FREEHCA_FIELD(packet_counts, rx_frames, &interface_counter::rx_frames),
    FREEHCA_FIELD(packet_counts, rx_bytes, &interface_counter::rx_bytes),
    FREEHCA_FIELD(packet_counts, tx_frames, &interface_counter::tx_frames),
    FREEHCA_FIELD(packet_counts, tx_bytes, &interface_counter::tx_bytes));

}  // namespace

// Each owner has counters of its own, because the device has no memory of them.
status packet_counter::build(verbs& in, const attributes&) {
  const std::uint32_t counters = counters_of(in.adapter().capabilities());
  if (counters == 0) return status(driver_error::unsupported, facts.item);
  const std::uint32_t place = index & ((std::uint32_t{1} << slab::place_bits) - 1);
  const std::uint32_t named = (in.owner_index() << log_counters_of_owner) + place;
  if (place >> log_counters_of_owner != 0 || named + 1 >= counters || named >= 0xff)
    return status(driver_error::no_resource, facts.item);
  number = named;
  return {};
}

void packet_counter_query::start(device& adapter, std::uint32_t index, bool reset) {
  if (!startable()) return;
  channel& commands = adapter.commands();
  const std::uint32_t counters = counters_of(adapter.capabilities());
  status s;
  if (!adapter.up()) s = driver_error::bad_state;
  else if (counters == 0) s = driver_error::unsupported;
  else s = refused.check(attribute_id::counter, index, counters - 1);
  if (!s.ok()) return commands.reactor().refuse(*this, s);
  aim(index, reset);
  commands.submit(*this);
}

packet_counts packet_counter_query::counts() const {
  packet_counts to;
  load(count_fields, output, to);
  return to;
}

}  // namespace freehca
