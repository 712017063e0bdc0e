// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "another_program.hpp"
#include "command_line.hpp"

int main(int argc, char** argv) {
  using namespace freehca::hcactl;
  // Its driver is of another flavour, so it is another program, with the same command line.
  if (form_of(argc, argv) == form::socket)
    return run_another_program("hcactl-vfio-user", argv, false);
  request what;
  if (const int code = read_command_line(argc, argv, form::pci_address, what); code >= 0)
    return code;
  return run(what, argv);
}
