// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>

#include <freehca/layouts/eqe.hpp>

namespace freehca::model {

/// What becomes of one event on its way to its event queue.
enum class event_fate : std::uint8_t {
  deliver,  ///< as it should
  lose,     ///< neither an entry nor an interrupt; the adapter believes that it told
  twice,    ///< two entries
};

/// Decides about each event when the adapter raises it.
using event_judge = std::function<event_fate(layouts::event_type type)>;

}  // namespace freehca::model
