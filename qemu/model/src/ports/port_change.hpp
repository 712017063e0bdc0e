// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/eqe.hpp>

#include "basis/adapter.hpp"
#include "queues/event_queues.hpp"

namespace freehca::model {

/// Tells the host that a port has become active or gone down, whatever its link is.
inline void post_port_change(adapter& a, unsigned port, layouts::port_change_subtype subtype) {
  using e = layouts::eqe_port_change;
  layouts::image<e> event;
  event.set<&e::event_sub_type>(static_cast<unsigned>(subtype)).set<&e::port>(port);
  a.eqs->post_asynchronous(layouts::event_type::port_change,
                           layouts::image<layouts::eqe>::from_bytes(event.data()));
}

}  // namespace freehca::model
