// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/init_hca.hpp>

namespace freehca {

struct capabilities;

/// The functions by which a device reports to its adapter_monitor. None is null.
struct device_watch {
  /// Called before INIT_HCA. Sets `events`, and the parameters of INIT_HCA that they need.
  void (*prepare)(device_watch& self, const capabilities& can,
                  layouts::image<layouts::init_hca>& to) noexcept;
  /// Called for each asynchronous event, before the device takes it. Returns true if the event is
  /// one of `events`.
  bool (*event)(device_watch& self, const layouts::image<layouts::eqe>& event) noexcept;
  /// Called when the attributes of a port were read after an event, in place of event_sinks::port.
  void (*port_read)(device_watch& self, unsigned port) noexcept;
  /// The types of events that the device asks for because of the watch. Bit n is type n.
  std::uint64_t events = 0;
};

}  // namespace freehca
