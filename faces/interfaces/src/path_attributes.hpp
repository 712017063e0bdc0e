// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/kinds/address_attributes.hpp>
#include <freehca/interfaces/path_attributes.hpp>

namespace freehca::interfaces {

inline constexpr auto path_known = attributes_of<address_attributes>({
    FREEHCA_ATTRIBUTE(address_attributes, port, path::port),
    FREEHCA_ATTRIBUTE(address_attributes, dlid, path::dlid),
    FREEHCA_ATTRIBUTE(address_attributes, sl, path::sl),
    FREEHCA_ATTRIBUTE(address_attributes, path_bits, path::path_bits),
    FREEHCA_ATTRIBUTE(address_attributes, static_rate, path::static_rate),
    FREEHCA_ATTRIBUTE(address_attributes, force_loopback, path::force_loopback),
    FREEHCA_ATTRIBUTE(address_attributes, global, path::global),
    FREEHCA_ATTRIBUTE(address_attributes, sgid_index, path::sgid_index),
    FREEHCA_ATTRIBUTE(address_attributes, hop_limit, path::hop_limit),
    FREEHCA_ATTRIBUTE(address_attributes, traffic_class, path::traffic_class),
    FREEHCA_ATTRIBUTE(address_attributes, flow_label, path::flow_label),
    FREEHCA_ATTRIBUTE(address_attributes, dgid, path::dgid),
});

}  // namespace freehca::interfaces
