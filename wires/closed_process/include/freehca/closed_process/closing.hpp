// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <freehca/closed_process/permissions.hpp>

namespace freehca::closed_process {

/// Whether a process is closed: as far as the kernel can, completely or not at all, or not.
enum class mode { automatic, required, off };

/// The values of the option --closed.
inline constexpr const char* mode_names = "auto, required or off";
/// Parses one of these values. Returns false for other texts.
bool read_mode(const std::string& text, mode& to);

/// The kernel's functions that close a process. A test can replace them.
struct kernel_functions {
  /// As landlock_create_ruleset(2), landlock_add_rule(2) and landlock_restrict_self(2).
  long (*create_ruleset)(const void* attributes, std::size_t bytes, std::uint32_t flags);
  long (*add_rule)(int ruleset, int type, const void* rule, std::uint32_t flags);
  long (*restrict_self)(int ruleset, std::uint32_t flags);
  /// Loads the filter of system calls. Returns "", or the reason for a failure.
  std::string (*load_filter)(const permissions& kept);
};
extern const kernel_functions this_kernel;

/// The result of close_process().
struct closing {
  bool failed = false;   ///< the mode is `required`, and a part is not in force
  bool partial = false;  ///< the mode is not `off`, and a part is not in force
  /// The parts in force, such as "closed: Landlock ABI 7, seccomp", or the reasons why they are
  /// not. For people.
  std::string text;
};

/// Closes the process for the rest of its life. The calling thread must be the only one. In the
/// mode `automatic` each part (Landlock, seccomp) that the kernel has comes into force.
closing close_process(mode how, const permissions& kept,
                      const kernel_functions& kernel = this_kernel);

}  // namespace freehca::closed_process
