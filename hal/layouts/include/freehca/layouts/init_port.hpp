// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The input of INIT_PORT on command interfaces before revision 3; later ones take no mailbox.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Sources: Linux 6.1 fw.c mlx4_INIT_PORT, iPXE MT25408_PRM.h init_port.
struct init_port {
  static constexpr std::size_t bytes = 0x100;
  as<bool> sig               {0x00, 18, 18, "sig"};  ///< set the system image GUID
  as<bool> ng                {0x00, 17, 17, "ng"};  ///< set the node GUID
  as<bool> g0                {0x00, 16, 16, "g0"};  ///< set GUID 0 of the port
  bits     port_width_cap    {0x00, 11,  8, "port_width_cap"};
  bits     vl_cap            {0x00,  7,  4, "vl_cap"};
  bits     mtu               {0x04, 31, 16, "mtu"};  ///< bytes
  bits     max_gid           {0x04, 15,  0, "max_gid"};
  bits     max_pkey          {0x08, 15,  0, "max_pkey"};
  bits     guid0             {0x10, 63,  0, "guid0"};
  bits     node_guid         {0x18, 63,  0, "node_guid"};
  bits     system_image_guid {0x20, 63,  0, "system_image_guid"};
};
static_assert(claimed<init_port>().sound);

}  // namespace freehca::layouts
