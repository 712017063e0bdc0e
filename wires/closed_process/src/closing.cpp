// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/closed_process/closing.hpp>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "call_filter.hpp"
#include "path_rules.hpp"

namespace freehca::closed_process {

// Debian 12's C library has no functions for Landlock.
const kernel_functions this_kernel{
    .create_ruleset =
        [](const void* attributes, std::size_t bytes, std::uint32_t flags) {
          return syscall(SYS_landlock_create_ruleset, attributes, bytes, flags);
        },
    .add_rule =
        [](int ruleset, int type, const void* rule, std::uint32_t flags) {
          return syscall(SYS_landlock_add_rule, ruleset, type, rule, flags);
        },
    .restrict_self =
        [](int ruleset, std::uint32_t flags) {
          return syscall(SYS_landlock_restrict_self, ruleset, flags);
        },
    .load_filter = load_call_filter};

bool read_mode(const std::string& text, mode& to) {
  if (text != "auto" && text != "required" && text != "off") return false;
  to = text == "auto" ? mode::automatic : text == "required" ? mode::required : mode::off;
  return true;
}

closing close_process(mode how, const permissions& kept, const kernel_functions& kernel) {
  if (how == mode::off) return {.text = "not closed: --closed off"};
  std::string path_failure, filter_failure;
  int abi = 0;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul) != 0) {
    path_failure = filter_failure = fmt::format("no_new_privs: {}", std::strerror(errno));
  } else {
    // The filter refuses the calls of Landlock, so it is the second part.
    path_failure = apply_path_rules(kept, kernel, abi);
    filter_failure = kernel.load_filter(kept);
  }
  if (path_failure.empty() && filter_failure.empty())
    return {.text = fmt::format("closed: Landlock ABI {}, seccomp", abi)};
  closing result{.failed = how == mode::required, .partial = true, .text = ""};
  if (path_failure.empty())
    result.text = fmt::format("closed in part: Landlock ABI {}; {}", abi, filter_failure);
  else if (filter_failure.empty())
    result.text = fmt::format("closed in part: seccomp; {}", path_failure);
  else result.text = fmt::format("not closed: {}; {}", path_failure, filter_failure);
  return result;
}

}  // namespace freehca::closed_process
