// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <optional>

#include <freehca/vfio_host/failure.hpp>

namespace freehca::hcactl {

/// The failure of a recorded run and of writing its file. If both failed, the message has both, and
/// the exit code is that of the run. Nothing if both succeeded.
inline std::optional<vfio_host::failure> run_and_file(std::optional<vfio_host::failure> of_run,
                                                      std::optional<vfio_host::failure> of_file) {
  if (!of_run || !of_file) return of_run ? of_run : of_file;
  of_run->message += "; moreover " + of_file->message;
  return of_run;
}

}  // namespace freehca::hcactl
