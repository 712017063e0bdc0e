// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests that come twice.
#include "peer_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {
class duplicates : public peer_fixture {
 protected:
  duplicates() : peer_fixture(qp_service::rc) {}
};
}  // namespace

TEST_F(duplicates, a_read_whose_region_has_gone_is_ignored) {
  const crafted read = of(op::rdma_read_request).add(range(8));
  before(read);
  ASSERT_EQ(driver->command(opcode::hw2sw_mpt, 0, 300, 1).status, command_status::ok);

  deliver(read);
  EXPECT_TRUE(answers.empty());
  EXPECT_EQ(driver->counter_named("transport_duplicates"), 1u);
  EXPECT_EQ(events(event_type::wq_access_violation), 0u);

  deliver(send(0));
  ASSERT_EQ(answers.size(), 1u) << "the connection has ended";
  EXPECT_EQ(answers[0].header.get<&aeth::type>(), aeth_type::ack);
}

}  // namespace freehca::model::test
