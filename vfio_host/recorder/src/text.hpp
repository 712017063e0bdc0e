// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <vector>

#include "entries.hpp"

namespace freehca::recorder {

/// The recording's text: header, records, last record.
std::string to_text(const std::vector<entry>& records, const adapter_facts& facts,
                    std::uint64_t node_guid, std::uint64_t mac, const std::string& label,
                    bool identity_kept);

}  // namespace freehca::recorder
