// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <vector>

#include <freehca/recording/structures.hpp>

namespace freehca::recording {

/// mailbox_of() the output, with the attribute of a management datagram told field by field.
std::vector<placed> output_of(const record& command, const std::vector<std::byte>& mailbox);

}  // namespace freehca::recording
