// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/cqe.hpp>

#include <freehca/queues/directory.hpp>
#include <freehca/queues/work_completion.hpp>

namespace freehca::queues {

/// Makes a completion of an entry and retires its request. False when the entry names no
/// outstanding request of the queue pair: nothing was retired then.
bool decode_cqe(const layouts::image<layouts::cqe>& e, qp_rings& pair, work_completion& to);

}  // namespace freehca::queues
