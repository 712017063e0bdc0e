// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The program for hcactl's option --vfio-user: the same commands with an adapter that
// freehca-device serves. It is a separate program because it needs the routed flavour of the
// driver.
#include "command_line.hpp"

namespace freehca::hcactl {

// Never called: the command line of sockets has no `list`.
int list(const common_options&) {
  return 0;
}

}  // namespace freehca::hcactl

int main(int argc, char** argv) {
  using namespace freehca::hcactl;
  request what;
  if (const int code = read_command_line(argc, argv, form::socket, what); code >= 0) return code;
  return run(what, argv);
}
