// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "another_program.hpp"
#include "commands.hpp"

namespace freehca::hcactl {

int record(const common_options& options, const record_options&, char** arguments) {
  return run_another_program("hcactl-record", arguments, options.json);
}

}  // namespace freehca::hcactl
