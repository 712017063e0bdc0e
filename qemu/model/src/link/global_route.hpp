// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <string>

#include "basis/rule_book.hpp"
#include "link/ingress.hpp"
#include "link/path.hpp"
#include "link/port_addresses.hpp"

namespace freehca::model {

/// Writes the GRH of a packet by `way`. `following`: bytes from the BTH to the ICRC.
void write_global_route(std::byte* to, const port_addresses& from, const path& way,
                        std::size_t following);

/// Does the GRH at `at` say that a BTH follows?
bool is_global_route(const std::byte* at);
/// Which field does not; for a GRH of which is_global_route() says no.
std::string why_no_global_route(const std::byte* at);

/// Has the packet a GRH if `way` has one, with the GIDs of its two ends? If not, the rule book is
/// told the reason.
bool comes_by_global_route(const ingress& from, const path& way, const port_addresses& own,
                           rule_book& rules);

}  // namespace freehca::model
