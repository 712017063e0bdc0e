// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/port_counters.hpp>

#include <freehca/hal/fields.hpp>

namespace freehca {

using layouts::pma_attribute;
using layouts::pma_mad;
using layouts::pma_port_mad;

void port_counters_query::start(channel& commands, unsigned port) {
  if (!startable()) return;
  begin_parts(&answered);
  commands_ = &commands;
  port_ = static_cast<std::uint8_t>(port);
  ask(pma_attribute::port_counters_ext);
}

void port_counters_query::ask(pma_attribute attribute) {
  part(mad_).aim(std::uint32_t{port_},
                 static_cast<std::uint32_t>(layouts::mad_ifc_modifier::ignore_mkey) |
                     static_cast<std::uint32_t>(layouts::mad_ifc_modifier::ignore_bkey));
  mad_.input = {};
  mad_.input.set<&pma_port_mad::base_version>(layouts::mad_base_version)
      .set<&pma_port_mad::mgmt_class>(layouts::mad_class::performance)
      .set<&pma_port_mad::class_version>(1)
      .set<&pma_port_mad::method>(layouts::mad_method::get)
      .set<&pma_port_mad::attribute_id>(static_cast<std::uint16_t>(attribute))
      .set<&pma_port_mad::port_select>(port_);
  if (deadline() != no_deadline) mad_.set_deadline(deadline());
  commands_->submit(mad_);
}

void port_counters_query::answered(stepper& self, status outcome) noexcept {
  auto& q = static_cast<port_counters_query&>(self);
  if (outcome.ok()) {
    const auto refused = q.mad_.output.get<&pma_mad::status>();
    if (refused != layouts::mad_status::success) {
      const auto asked =
          static_cast<pma_attribute>(q.mad_.input.get<&pma_port_mad::attribute_id>());
      if (asked != pma_attribute::port_counters_ext)
        outcome = status(transport_error::bad_reply, static_cast<unsigned>(refused));
      else if (outcome = q.stop_reason(); outcome.ok()) return q.ask(pma_attribute::port_counters);
    }
  }
  q.complete(outcome);
}

infiniband_counters port_counters_query::counters() const {
  using narrow = layouts::port_counters;
  using wide = layouts::port_counters_ext;
#define FREEHCA_ROW(member, table) FREEHCA_FIELD(infiniband_counters, member, &table::member)
  static constexpr auto of_32_bits =
      fields_of<narrow>(FREEHCA_ROW(xmit_data, narrow), FREEHCA_ROW(rcv_data, narrow),
                        FREEHCA_ROW(xmit_packets, narrow), FREEHCA_ROW(rcv_packets, narrow));
  static constexpr auto of_64_bits =
      fields_of<wide>(FREEHCA_ROW(xmit_data, wide), FREEHCA_ROW(rcv_data, wide),
                      FREEHCA_ROW(xmit_packets, wide), FREEHCA_ROW(rcv_packets, wide));
#undef FREEHCA_ROW
  infiniband_counters to;
  to.wide = static_cast<pma_attribute>(mad_.input.get<&pma_port_mad::attribute_id>()) ==
            pma_attribute::port_counters_ext;
  load_fields(to.wide ? of_64_bits.rows : of_32_bits.rows, 4,
              mad_.output.bytes_of<&pma_mad::data>(), &to);
  return to;
}

}  // namespace freehca
