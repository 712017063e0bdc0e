// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Queue pairs without a send queue drain, as those with one do.
#include "transport_fixture.hpp"

namespace freehca::model::test {

using layouts::opcode;
using layouts::qpc;

namespace {

struct sendless {
  const char* name;
  qp_service service;
  void (*take_send_queue)(layouts::image<qpc>& c);
};
void PrintTo(const sendless& s, std::ostream* to) {
  *to << s.name;
}

class without_a_send_queue : public transport_fixture,
                             public testing::WithParamInterface<sendless> {
 protected:
  void drain(const test_qp& qp, std::uint32_t with_event) {
    ASSERT_EQ(driver->command(opcode::rts2sqd_qp, 0, qp.number | with_event << 31).status,
              command_status::ok);
    EXPECT_EQ(events(event_type::sq_drained), with_event);
    EXPECT_EQ(state_of(qp), qp_state::sq_drained);
  }
};

const sendless all[] = {
    {"RC_of_no_entries", qp_service::rc,
     [](layouts::image<qpc>& c) { c.set<&qpc::log_sq_size>(0); }},
    {"UD_of_no_entries", qp_service::ud,
     [](layouts::image<qpc>& c) { c.set<&qpc::log_sq_size>(0); }},
    // As the kernel's own (hw/mlx4/qp.c set_kernel_sq_size).
    {"XRC_target", qp_service::xrc,
     [](layouts::image<qpc>& c) { c.set<&qpc::log_sq_stride>(0).set<&qpc::xrcd>(9); }},
};

}  // namespace

TEST_P(without_a_send_queue, drains_and_goes_on) {
  const test_qp qp = make_qp(0x100, GetParam().service);
  auto first = first_context(qp), ready = ready_context(qp, 0x101);
  GetParam().take_send_queue(first);
  GetParam().take_send_queue(ready);
  ASSERT_EQ(modify(opcode::rst2init_qp, qp.number, first), command_status::ok);
  ASSERT_EQ(modify(opcode::init2rtr_qp, qp.number, ready), command_status::ok);
  ASSERT_EQ(modify(opcode::rtr2rts_qp, qp.number, ready), command_status::ok);
  events(event_type::none);
  for (const std::uint32_t with_event : {1u, 0u, 1u}) {
    drain(qp, with_event);
    ASSERT_EQ(modify(opcode::sqd2rts_qp, qp.number, ready), command_status::ok);
    EXPECT_EQ(state_of(qp), qp_state::rts);
  }
  EXPECT_TRUE(host->complaints.empty());
}

INSTANTIATE_TEST_SUITE_P(every, without_a_send_queue, testing::ValuesIn(all),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace freehca::model::test
