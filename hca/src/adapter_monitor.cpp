// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/adapter_monitor.hpp>

#include <freehca/hca/device.hpp>
#include <freehca/layouts/bit_operations.hpp>

namespace freehca {

using layouts::event_type;

adapter_monitor::adapter_monitor(const monitor_sinks& to) : to_(to) {
  prepare = [](device_watch& self, const capabilities& can,
               layouts::image<layouts::init_hca>& with) noexcept {
    constexpr auto flag =
        static_cast<std::uint32_t>(layouts::dev_cap_ext_3_flag::recoverable_error_event);
    const bool recoverable = (can.raw.get<&layouts::query_dev_cap::ext_3_flags>() & flag) != 0;
    with.set<&layouts::init_hca::recoverable_error_event>(recoverable);
    // Linux asks for operation_required whatever the capabilities are (6.1 eq.c
    // get_async_ev_mask).
    self.events = std::uint64_t{1} << static_cast<unsigned>(event_type::operation_required) |
                  std::uint64_t{recoverable}
                      << static_cast<unsigned>(event_type::recoverable_error);
  };
  event = [](device_watch& self, const layouts::image<layouts::eqe>& e) noexcept {
    return static_cast<adapter_monitor&>(self).take(e);
  };
  port_read = [](device_watch& self, unsigned port) noexcept {
    auto& m = static_cast<adapter_monitor&>(self);
    m.ports_[port - 1].read = true;
    m.read_next();
  };
}

status adapter_monitor::start(device& d) {
  if (d.state() != device_state::down || d.watch_ != nullptr || device_ != nullptr)
    return driver_error::bad_state;
  device_ = &d;
  d.watch_ = this;
  return {};
}

void adapter_monitor::stop() {
  if (device_ == nullptr) return;
  device_->watch_ = nullptr;
  // The device reads these ports again, and reports them to event_sinks::port.
  for (unsigned i = 0; i < most_ports; ++i)
    if (ports_[i].read) device_->ports_.changed(i + 1);
  device_ = nullptr;
}

bool adapter_monitor::take(const layouts::image<layouts::eqe>& e) {
  const event_type type = e.get<&layouts::eqe::event_type>();
  ++counts_[static_cast<unsigned>(type) % types];
  switch (type) {
    case event_type::port_change:
    case event_type::port_management_change:
      if (!take_port_event(e)) ++unknown_;
      return false;
    case event_type::operation_required:
      if (++required_ == 1) send(layouts::get_op_req_modifier::get, 0);
      [[fallthrough]];
    case event_type::recoverable_error:
    case event_type::fatal_warning:
    case event_type::ecc_detect:
    case event_type::eq_overflow:
    case event_type::local_catastrophic_error:
      if (to_.condition != nullptr) to_.condition(to_.context, e);
      return type == event_type::operation_required || type == event_type::recoverable_error;
    default:
      return false;
  }
}

/// Returns false if the event names no InfiniBand port, no block or no known subtype.
bool adapter_monitor::take_port_event(const layouts::image<layouts::eqe>& e) {
  using subtype = layouts::port_management_subtype;
  using l = layouts::eqe_port_event;
  const bool of_state = e.get<&layouts::eqe::event_type>() == event_type::port_change;
  const std::uint32_t port = l::port_of(e), changed = l::read<&l::changed>(e);
  if (port - 1 >= device_->capabilities().ports) return false;
  // Before that, bring-up reads the ports by itself.
  if (!device_->up()) return true;
  const port_attributes& has = device_->port(port);
  watched_port& p = ports_[port - 1];
  auto what = port_change::state;
  std::uint32_t stale = 0;
  if (!of_state) {
    if (has.link_layer != layouts::port_type::ib) return false;
    const std::uint64_t first = std::uint64_t{l::read<&l::block>(e)} * 32;
    switch (static_cast<subtype>(e.get<&layouts::eqe::event_sub_type>())) {
      case subtype::port_info:
        p.changes |= changed & 0x1f;
        return true;
      case subtype::guid_info:
        // The event counts in blocks of 32 GUIDs, GUIDInfo in blocks of eight (Linux 6.1
        // hw/mlx4/mad.c handle_slaves_guid_change).
        for (unsigned i = 0; i < 4; ++i) {
          const std::uint64_t at = first + i * layouts::guids_per_block;
          if ((changed >> 8 * i & 0xff) != 0 && at < 8 * pkeys_at && at < has.gid_table_length)
            stale |= 1u << at / 8;
        }
        what = port_change::guids;
        break;
      case subtype::pkey_table:
        if (first < 32 * (32 - pkeys_at) && first < has.pkey_table_length)
          stale = 1u << (pkeys_at + first / 32);
        what = port_change::pkeys;
        break;
      case subtype::sl_to_vl_map:
        what = port_change::sl_to_vl;
        break;
      default:
        return false;
    }
    if (stale == 0 && what != port_change::sl_to_vl) return false;
    if (stale != 0) p.failures = 0;
    p.stale |= stale;
  }
  p.changes |= static_cast<std::uint32_t>(what);
  return true;
}

/// Reads the next block that has changed, of the ports whose attributes were read. Reports each
/// port of which nothing is left to read.
void adapter_monitor::read_next() {
  // No source: chosen.
  constexpr unsigned most_failures = 4;
  for (unsigned i = 0; i < most_ports && port_ == 0 && device_ != nullptr; ++i) {
    watched_port& p = ports_[i];
    if (!p.read) continue;
    const bool up = device_->up();
    // The events came before the port became Ethernet, or before the device failed.
    const bool is_infiniband = device_->port(i + 1).link_layer == layouts::port_type::ib;
    if (!up || !is_infiniband) p.stale = 0;
    if (!is_infiniband) p.changes &= static_cast<std::uint32_t>(port_change::state);
    if (p.stale != 0) {
      block_ = layouts::lowest_bit(p.stale);
      p.stale &= p.stale - 1;
      port_ = i + 1;
      table_.restart();
      table_.then(
          [](operation&, void* m) noexcept { static_cast<adapter_monitor*>(m)->table_read(); },
          this);
      table_.start(device_->commands(), port_,
                   block_ < pkeys_at ? layouts::smp_attribute::guid_info
                                     : layouts::smp_attribute::pkey_table,
                   block_ % pkeys_at);
      return;
    }
    p.read = false;
    std::uint32_t later = 0;
    if (p.failed != 0 && up && ++p.failures < most_failures) {
      // The device reads the port again after a pause, and then the blocks.
      p.stale = p.failed;
      if (p.failed >> pkeys_at != 0) later = static_cast<std::uint32_t>(port_change::pkeys);
      if (p.failed << pkeys_at != 0) later |= static_cast<std::uint32_t>(port_change::guids);
      device_->ports_.read_later(i + 1, device_->platform().now());
    } else {
      p.failures = 0;
    }
    p.failed = 0;
    const std::uint32_t changes = p.changes & ~later;
    p.changes &= later;
    const event_sinks sinks = device_->sinks_;
    if (to_.port != nullptr) to_.port(to_.context, i + 1, changes);
    if (sinks.port != nullptr) sinks.port(sinks.context, i + 1);
  }
}

void adapter_monitor::table_read() {
  const unsigned port = port_;
  port_ = 0;
  if (device_ == nullptr) return;
  if (table_.outcome().ok()) {
    using guids = layouts::guid_info;
    if (block_ == 0)
      device_->ports_.set_guid(port, layouts::load_be<std::uint64_t>(
                                         table_.attribute<guids>().bytes_of<&guids::guids>()));
    if (to_.table != nullptr)
      to_.table(to_.context, port, block_ < pkeys_at ? port_change::guids : port_change::pkeys,
                block_ % pkeys_at, table_);
  } else {
    ports_[port - 1].failed |= 1u << block_;
  }
  read_next();
}

void adapter_monitor::send(layouts::get_op_req_modifier how, std::uint32_t result) {
  operation_.restart();
  operation_.aim(how, result);
  operation_.then(
      [](operation&, void* m) noexcept { static_cast<adapter_monitor*>(m)->answered(); }, this);
  device_->commands().submit(operation_);
}

/// If a command fails, the next event fetches the operation again (Linux leaves its loop as well).
void adapter_monitor::answered() {
  // ADD_TO_MCG, EPERM and EINVAL of Linux 6.1 fw.c mlx4_opreq_action.
  constexpr std::uint32_t multicast = 0x26, not_permitted = 1, invalid = 22;
  using enum layouts::get_op_req_modifier;
  using l = layouts::get_op_req_group;
  if (device_ == nullptr || !operation_.outcome().ok()) {
    required_ = 0;
  } else if (operation_.request.opcode_modifier != static_cast<unsigned>(get)) {
    if (--required_ != 0) send(get, 0);
  } else {
    const auto& asked = operation_.output;
    std::uint32_t result = invalid;
    if (asked.get<&l::type>() == multicast) {
      const bool refuses = device_->steers_by_rules() || asked.get<&l::members_count>() != 0;
      result = refuses ? not_permitted : 0;
    }
    using modifier = layouts::get_op_req_result;
    layouts::image<modifier> answer;
    answer.set<&modifier::token>(asked.get<&l::token>()).set<&modifier::status>(result);
    send(acknowledge, layouts::load_be<std::uint32_t>(answer.data()));
  }
}

}  // namespace freehca
