// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: set_input|constraints not satisfied
#include <freehca/firmware_cmds/firmware.hpp>
#include <freehca/firmware_cmds/icm.hpp>
void fill();
void fill() {
#ifdef FREEHCA_MAKE_IT_RIGHT
  freehca::firmware_command<freehca::commands::set_icm_size> c;
#else
  freehca::firmware_command<freehca::commands::run_fw> c;
#endif
  c.set_input(std::uint64_t{4096});
}
