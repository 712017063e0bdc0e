// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/model/options.hpp>

namespace freehca::model {

/// How a port stands, for those who look on.
struct port_view {
  link_layer layer = link_layer::infiniband;  ///< now: of a VPI port the driver may change it
  bool open = false;                          ///< INIT_PORT
  bool peer = false;                          ///< somebody is at the far end, as far as it can tell
  bool link_up = false;
  bool active = false;  ///< packets may flow: of an InfiniBand port a subnet manager has said so
};

}  // namespace freehca::model
