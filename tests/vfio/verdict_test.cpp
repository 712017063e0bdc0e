// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What hcactl makes of the driver's errors: the exit code, and what the message says to do.
#include <cerrno>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include <freehca/layouts/opcode.hpp>

#include <verdict.hpp>

namespace freehca::hcactl {
namespace {

using vfio_host::failure;
using vfio_host::trouble;

struct expectation {
  const char* name;
  circumstances of;
  trouble kind;
  const char* words;  // in the message
  friend std::ostream& operator<<(std::ostream& to, const expectation& e) { return to << e.name; }
};

circumstances in_traffic(status s) {
  circumstances c;
  c.outcome = s;
  c.refusal = "VFIO_IOMMU_MAP_DMA: what the kernel said";
  c.locked_bytes = 123 * 4096;
  return c;
}
circumstances at_step(bring_up_step step, status cause) {
  circumstances c = in_traffic(cause.at(static_cast<unsigned>(step)));
  c.failed = {step, cause};
  return c;
}
circumstances interrupted(circumstances c) {
  c.interrupted = true;
  return c;
}
circumstances wanted_back(circumstances c) {
  c.interrupted = c.wanted_back = true;
  return c;
}
circumstances too_much() {
  circumstances c =
      at_step(bring_up_step::map_fa,
              {driver_error::exceeds_limits, static_cast<unsigned>(budget::item::firmware_area)});
  c.failed.asked = 987654;
  c.failed.bound = 2048;
  return c;
}

status of_item(driver_error e, budget::item i) {
  return {e, static_cast<unsigned>(i)};
}
circumstances sized(circumstances c) {
  c.sized = true;
  c.memory_bytes = 1'234'567'890;
  return c;
}
circumstances too_much_for_the_sizes() {
  circumstances c =
      sized(at_step(bring_up_step::set_icm_size,
                    of_item(driver_error::exceeds_limits, budget::item::auxiliary_area)));
  c.failed.asked = 5555;
  c.failed.bound = 3072;
  return c;
}

/// Tables of 2^21 entries each, of an adapter that has 2^19 and keeps 200 for itself.
circumstances beyond_the_adapter(budget::item what) {
  using l = layouts::query_dev_cap;
  circumstances c =
      sized(at_step(bring_up_step::plan_context, of_item(driver_error::bad_argument, what)));
  budget& b = c.size;
  b.log_qps = b.log_srqs = b.log_cqs = b.log_mpts = b.log_mcgs = 21;
  capabilities& can = c.can;
  can.ports = 2;
  can.reserved_qps = can.reserved_srqs = can.reserved_cqs = can.reserved_mpts = 200;
  can.raw.set<&l::log_max_qps>(19).set<&l::log_max_srqs>(19).set<&l::log_max_cqs>(19);
  can.raw.set<&l::log_max_mpts>(19).set<&l::log_max_mcgs>(19).set<&l::num_rsvd_mcgs>(0);
  return c;
}

circumstances of_revision(unsigned revision) {
  circumstances c = at_step(bring_up_step::query_fw, driver_error::unsupported);
  c.command_interface = revision;
  return c;
}

class verdict_test : public ::testing::TestWithParam<expectation> {};

TEST_P(verdict_test, has_code_and_remedy) {
  const failure f = verdict(GetParam().of, "bring-up", "0000:03:00.0");
  EXPECT_EQ(f.kind, GetParam().kind) << f.message;
  EXPECT_NE(f.message.find(GetParam().words), std::string::npos) << f.message;
  EXPECT_EQ(f.message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    of, verdict_test,
    ::testing::Values(
        expectation{"ownership", at_step(bring_up_step::take_ownership, driver_error::busy),
                    trouble::owned, "hcactl reset 0000:03:00.0"},
        expectation{"flash", at_step(bring_up_step::reset, driver_error::busy), trouble::owned,
                    "flash semaphore"},
        // Only these two steps meet an owner. Elsewhere it is the device that does not let go.
        expectation{"context_memory_kept", at_step(bring_up_step::map_reserved, driver_error::busy),
                    trouble::device_gone, "context memory"},
        expectation{"context_memory_kept_has_a_remedy",
                    at_step(bring_up_step::map_reserved, driver_error::busy), trouble::device_gone,
                    "hcactl reset 0000:03:00.0, then a power cycle"},
        expectation{"object_kept", at_step(bring_up_step::create_event_queues, driver_error::busy),
                    trouble::device_gone, "creating event queues: 0000:03:00.0 holds on"},
        expectation{"firmware_asks_too_much", too_much(), trouble::firmware_error,
                    "987654 pages of the firmware's own area, and this program has 2048"},
        // The firmware's own area is not what the user made large.
        expectation{"firmware_asks_too_much_whatever_the_sizes", sized(too_much()),
                    trouble::firmware_error, "no firmware for such an adapter"},
        expectation{"tables_need_too_much", too_much_for_the_sizes(), trouble::system,
                    "wants 5555 pages of the firmware's auxiliary area, and this program has 3072; "
                    "smaller --size"},
        expectation{"tables_need_more_pages",
                    sized(at_step(bring_up_step::map_reserved,
                                  of_item(driver_error::no_memory, budget::item::lent_pages))),
                    trouble::system, "more pages to lend to the firmware than this program has"},
        expectation{
            "firmware_refuses_the_sizes",
            sized(at_step(bring_up_step::init_hca, layouts::command_status::exceeds_limits)),
            trouble::system, "smaller --size NAME=LOG"},
        expectation{"firmware_refuses_what_nobody_made_large",
                    at_step(bring_up_step::init_hca, layouts::command_status::exceeds_limits),
                    trouble::firmware_error, "refuses"},
        expectation{"adapter_has_no_such_table",
                    at_step(bring_up_step::plan_context,
                            of_item(driver_error::bad_argument, budget::item::cqs)),
                    trouble::system, "CQ numbers: it has a limit"},
        expectation{"adapter_has_no_such_table_names_the_option",
                    at_step(bring_up_step::plan_context,
                            of_item(driver_error::bad_argument, budget::item::cqs)),
                    trouble::system, "--size cqs=LOG for more, or less"},
        expectation{"size_value_and_limit_of_queue_pairs", beyond_the_adapter(budget::item::qps),
                    trouble::system,
                    "--size qps=21 is not from 8 to 19: it has at most 2^19 QP numbers, and keeps "
                    "200 of them"},
        expectation{"size_value_and_limit_of_shared_receive_queues",
                    beyond_the_adapter(budget::item::srqs), trouble::system,
                    "--size srqs=21 is not from 8 to 19"},
        expectation{"size_value_and_limit_of_completion_queues",
                    beyond_the_adapter(budget::item::cqs), trouble::system,
                    "0000:03:00.0: --size cqs=21 is not from 8 to 19"},
        expectation{"size_value_and_limit_of_regions", beyond_the_adapter(budget::item::mpts),
                    trouble::system, "--size mpts=21 is not from 8 to 19"},
        expectation{"size_value_and_limit_of_groups",
                    beyond_the_adapter(budget::item::multicast_groups), trouble::system,
                    "--size mcgs=21 is not from 0 to 19"},
        expectation{"adapter_has_not_so_much_context_memory",
                    at_step(bring_up_step::plan_context,
                            of_item(driver_error::bad_argument, budget::item::lent_pages)),
                    trouble::system, "smaller --size NAME=LOG"},
        expectation{"machine_has_not_so_much_memory",
                    sized(in_traffic(of_item(driver_error::no_memory, budget::item::storage))),
                    trouble::system, "want 1235 MB of this machine's memory"},
        expectation{"firmware_refuses",
                    at_step(bring_up_step::map_fa, layouts::command_status::bad_parameter),
                    trouble::firmware_error, "bring-up, MAP_FA"},
        expectation{"firmware_refuses_traffic", in_traffic(layouts::command_status::bad_parameter),
                    trouble::firmware_error, "refuses"},
        expectation{"firmware_silent", at_step(bring_up_step::query_fw, transport_error::timeout),
                    trouble::firmware_silent, "bring-up, QUERY_FW"},
        expectation{"firmware_too_old", of_revision(2), trouble::firmware_error,
                    "bring-up, QUERY_FW: the firmware of 0000:03:00.0 has revision 2 of the "
                    "command interface, and this program knows 3: it is too old; burn a newer one"},
        expectation{"firmware_too_new", of_revision(4), trouble::firmware_error,
                    "has revision 4 of the command interface, and this program knows 3: it is "
                    "newer; look for a newer program"},
        // A step may consist of several commands, and traffic does: which one it was is told by
        // name.
        expectation{
            "silent_command",
            at_step(bring_up_step::create_event_queues,
                    {transport_error::timeout, static_cast<unsigned>(layouts::opcode::sw2hw_eq)}),
            trouble::firmware_silent, "no answer in time at SW2HW_EQ"},
        expectation{"silent_command_in_traffic",
                    in_traffic({transport_error::timeout,
                                static_cast<unsigned>(layouts::opcode::rtr2rts_qp)}),
                    trouble::firmware_silent, "no answer in time at RTR2RTS_QP"},
        expectation{"gone", in_traffic(transport_error::gone), trouble::device_gone, "power cycle"},
        expectation{"too_little_locked", in_traffic({transport_error::refused, ENOMEM}),
                    trouble::locked_memory_limit, "503808 bytes"},
        expectation{"kernel_refuses", in_traffic({transport_error::refused, EIO}), trouble::system,
                    "what the kernel said"},
        expectation{"interrupted",
                    interrupted(at_step(bring_up_step::query_fw, driver_error::cancelled)),
                    trouble::interrupted, "given back"},
        expectation{"wanted_back", wanted_back(in_traffic(driver_error::cancelled)),
                    trouble::wanted_back, "unbound from vfio-pci or unplugged"},
        expectation{"wanted_back_and_gone", wanted_back(in_traffic(transport_error::gone)),
                    trouble::device_gone, "is gone or broken"},
        // Somebody else's cancellation is a defect, and not the user's wish.
        expectation{"cancelled", in_traffic(driver_error::cancelled), trouble::system, "cancelled"},
        // What was interrupted may have failed all the same.
        expectation{"interrupted_and_silent", interrupted(in_traffic(transport_error::timeout)),
                    trouble::firmware_silent, "does not answer"}),
    [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace freehca::hcactl
