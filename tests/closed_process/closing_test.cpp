// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The modes, the messages, and kernels that have less than this one.
#include <freehca/closed_process/closing.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "in_child.hpp"

namespace freehca::closed_process::test {
namespace {

constexpr int newest_known_abi = 7;

long fail_with(int why) {
  errno = why;
  return -1;
}

// A kernel whose Landlock does nothing.
constexpr kernel_functions idle_kernel{
    .create_ruleset = [](const void* attributes, std::size_t, std::uint32_t) -> long {
      return attributes == nullptr ? 3 : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    },
    .add_rule = [](int, int, const void*, std::uint32_t) -> long { return 0; },
    .restrict_self = [](int, std::uint32_t) -> long { return 0; },
    .load_filter = [](const permissions&) { return std::string(); }};

kernel_functions without_landlock(long (*create)(const void*, std::size_t, std::uint32_t)) {
  kernel_functions made = idle_kernel;
  made.create_ruleset = create;
  return made;
}

constexpr auto has_no_landlock = [](const void*, std::size_t, std::uint32_t) {
  return fail_with(ENOSYS);
};
constexpr auto has_no_filter = [](const permissions&) {
  return std::string("the kernel has no seccomp");
};

TEST(closing_modes, their_names) {
  mode read = mode::off;
  EXPECT_TRUE(read_mode("auto", read));
  EXPECT_EQ(mode::automatic, read);
  EXPECT_TRUE(read_mode("required", read));
  EXPECT_EQ(mode::required, read);
  EXPECT_TRUE(read_mode("off", read));
  EXPECT_EQ(mode::off, read);
  for (const char* wrong : {"", "on", "Auto", "required "}) {
    EXPECT_FALSE(read_mode(wrong, read)) << wrong;
    EXPECT_EQ(mode::off, read);
  }
}

TEST(closing_modes, this_kernel_has_both_parts) {
  const long abi = std::min<long>(abi_of_this_kernel(), newest_known_abi);
  ASSERT_GE(abi, 1) << std::strerror(errno);
  for (const mode how : {mode::automatic, mode::required}) {
    const closing result = close_child(how, {}, this_kernel);
    EXPECT_FALSE(result.failed);
    EXPECT_FALSE(result.partial);
    EXPECT_EQ("closed: Landlock ABI " + std::to_string(abi) + ", seccomp", result.text);
  }
}

TEST(closing_modes, off_changes_nothing) {
  const end ended = run_in_child([] {
    const closing result = close_process(mode::off, {});
    const bool said = result.text == "not closed: --closed off" && !result.failed;
    return said && prctl(PR_GET_NO_NEW_PRIVS, 0ul, 0ul, 0ul, 0ul) == 0 &&
                   prctl(PR_GET_SECCOMP) == 0 && open("/etc/passwd", O_RDONLY) >= 0
               ? 0
               : 1;
  });
  EXPECT_EQ(end{}, ended);
}

struct lack {
  const char* what;
  kernel_functions kernel;
  const char* text;
};

TEST(closing_modes, a_kernel_that_lacks_a_part) {
  kernel_functions no_filter = idle_kernel, neither = without_landlock(has_no_landlock);
  no_filter.load_filter = neither.load_filter = has_no_filter;
  kernel_functions no_rule = idle_kernel, no_end = idle_kernel;
  no_rule.add_rule = [](int, int, const void*, std::uint32_t) { return fail_with(EINVAL); };
  no_end.restrict_self = [](int, std::uint32_t) { return fail_with(E2BIG); };
  const lack all[] = {
      {"Landlock", without_landlock(has_no_landlock),
       "closed in part: seccomp; the kernel has no Landlock"},
      {"Landlock's start", without_landlock([](const void*, std::size_t, std::uint32_t) {
         return fail_with(EOPNOTSUPP);
       }),
       "closed in part: seccomp; the kernel was started without Landlock"},
      {"Landlock, by a container",
       without_landlock([](const void*, std::size_t, std::uint32_t) { return fail_with(EPERM); }),
       "closed in part: seccomp; Landlock: its version: Operation not permitted"},
      {"rulesets", without_landlock([](const void* attributes, std::size_t, std::uint32_t) {
         return attributes == nullptr ? 1 : fail_with(ENOMEM);
       }),
       "closed in part: seccomp; Landlock: a ruleset: Cannot allocate memory"},
      {"rules", no_rule, "closed in part: seccomp; Landlock: /tmp: Invalid argument"},
      {"the last call", no_end,
       "closed in part: seccomp; Landlock: its application: Argument list too long"},
      {"seccomp", no_filter, "closed in part: Landlock ABI 3; the kernel has no seccomp"},
      {"both", neither, "not closed: the kernel has no Landlock; the kernel has no seccomp"}};
  permissions kept;
  kept.removed_files = {"/tmp/socket"};
  for (const lack& one : all) {
    const closing automatic = close_child(mode::automatic, kept, one.kernel);
    EXPECT_FALSE(automatic.failed) << one.what;
    EXPECT_TRUE(automatic.partial) << one.what;
    EXPECT_EQ(one.text, automatic.text) << one.what;
    const closing required = close_child(mode::required, kept, one.kernel);
    EXPECT_TRUE(required.failed) << one.what;
    EXPECT_EQ(one.text, required.text) << one.what;
  }
}

TEST(closing_modes, a_folder_that_is_gone) {
  permissions kept;
  kept.removed_files = {"/tmp/freehca-no-folder/socket"};
  EXPECT_EQ("closed in part: seccomp; Landlock: /tmp/freehca-no-folder: No such file or directory",
            close_child(mode::automatic, kept, idle_kernel).text);
}

// An older kernel: it tells an older ABI, and refuses attributes that this ABI does not have.
struct ruleset {
  std::uint64_t paths, ports, scopes;
};
int told_abi = 0;
constexpr kernel_functions older_kernel{
    .create_ruleset = [](const void* attributes, std::size_t bytes, std::uint32_t flags) -> long {
      if (attributes == nullptr) return told_abi;
      const std::size_t most = told_abi >= 6 ? 24u : told_abi >= 4 ? 16u : 8u;
      const unsigned path_bits = told_abi >= 5 ? 16 : told_abi >= 3 ? 15 : told_abi >= 2 ? 14 : 13;
      ruleset asked{};
      std::memcpy(&asked, attributes, std::min(bytes, sizeof asked));
      if (bytes > most) return fail_with(E2BIG);
      if ((asked.paths >> path_bits) != 0) return fail_with(EINVAL);
      // All rights that this kernel knows are handled.
      if (asked.paths + 1 != std::uint64_t{1} << path_bits) return fail_with(EDOM);
      if (told_abi >= 4 && asked.ports != 3) return fail_with(EDOM);
      if (told_abi >= 6 && asked.scopes != 3) return fail_with(EDOM);
      return this_kernel.create_ruleset(attributes, bytes, flags);
    },
    .add_rule = [](int number, int type, const void* rule, std::uint32_t flags) -> long {
      if (type == 2 && told_abi < 4) return fail_with(EINVAL);
      return this_kernel.add_rule(number, type, rule, flags);
    },
    .restrict_self = [](int number,
                        std::uint32_t flags) { return this_kernel.restrict_self(number, flags); },
    .load_filter = [](const permissions&) { return std::string(); }};

TEST(older_kernels, each_abi) {
  folder files;
  const std::string file = files.file("file");
  permissions kept;
  kept.connected_families = {AF_INET};
  kept.connected_ports = {4000};
  for (told_abi = 1; told_abi <= abi_of_this_kernel(); ++told_abi) {
    const int abi = std::min(told_abi, newest_known_abi);
    const closing result = close_child(mode::required, kept, older_kernel);
    EXPECT_EQ("closed: Landlock ABI " + std::to_string(abi) + ", seccomp", result.text);
    EXPECT_FALSE(result.failed);
    EXPECT_EQ(end{.code = EACCES},
              run_closed(
                  kept, [&] { return open(file.c_str(), O_WRONLY); }, older_kernel))
        << told_abi;
    // Before ABI 3, truncate() is no right that Landlock knows.
    EXPECT_EQ(end{.code = told_abi < 3 ? 0 : EACCES},
              run_closed(
                  kept, [&] { return truncate(file.c_str(), 0); }, older_kernel))
        << told_abi;
  }
}

TEST(older_kernels, a_newer_one_is_used_as_the_newest_that_is_known) {
  kernel_functions newer = idle_kernel;
  newer.create_ruleset = [](const void* attributes, std::size_t bytes, std::uint32_t) -> long {
    if (attributes == nullptr) return 99;
    return bytes == 24 ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : fail_with(EDOM);
  };
  EXPECT_EQ("closed: Landlock ABI 7, seccomp", close_child(mode::required, {}, newer).text);
}

}  // namespace
}  // namespace freehca::closed_process::test
