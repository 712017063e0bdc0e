// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "another_program.hpp"
#include "command_line.hpp"

int main(int argc, char** argv) {
  using namespace freehca::hcactl;
  // vfio-user needs another access flavour of the driver, so another program with the same command
  // line does the work.
  if (form_of(argc, argv) == form::socket)
    return run_another_program("hcactl-vfio-user", argv, false);
  request what;
  if (const int code = read_command_line(argc, argv, form::pci_address, what); code >= 0)
    return code;
  return run(what, argv);
}
