// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <functional>

#include <freehca/layouts/wqe.hpp>

namespace freehca::model {

/// Decides about each work request when a send queue takes it. False: it completes with a local QP
/// operation error.
using request_judge = std::function<bool(layouts::wqe_opcode opcode)>;

}  // namespace freehca::model
