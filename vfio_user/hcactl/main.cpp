// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What hcactl does with --vfio-user: the same work over an adapter that freehca-device serves. It
// is a program of its own, since its driver is that of the routed flavour.
#include "command_line.hpp"

namespace freehca::hcactl {

// The adapters of the machine are not behind a socket: the command line has no `list`.
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
