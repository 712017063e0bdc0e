// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// old_kernel landlock|seccomp|both PROGRAM [ARGUMENT...]: becomes the program, for which the kernel
// lacks these parts.
#include <seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

namespace {

void take_landlock_away(scmp_filter_ctx filter) {
  seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(landlock_create_ruleset), 0);
}

void take_filters_away(scmp_filter_ctx filter) {
  seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp), 0);
  const scmp_arg_cmp of_filters{0, SCMP_CMP_EQ, PR_SET_SECCOMP, 0};
  seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1, &of_filters);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string parts = argv[1];
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (parts != "seccomp") take_landlock_away(filter);
  if (parts != "landlock") take_filters_away(filter);
  if (seccomp_load(filter) != 0) return 2;
  seccomp_release(filter);
  execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 2;
}
