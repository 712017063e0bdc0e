// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/cqe.hpp>
#include <freehca/model/options.hpp>
#include <freehca/queues/work_completion.hpp>

namespace freehca::fuzz {

/// Records what the drivers of this process met: commands that an adapter got, events that it
/// raised, work requests that it began, and completions that a driver returned. print_reach()
/// prints the record (run.hpp).
namespace reach {
/// Judges for machine_options::model. They let everything be.
model::options::lasting_judges recorder();
void completion(const queues::work_completion& w);
/// The end of a resize, which verbs return as no completion.
void completion(layouts::cqe_opcode opcode);
}  // namespace reach

}  // namespace freehca::fuzz
