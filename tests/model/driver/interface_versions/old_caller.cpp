// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "releases.hpp"

namespace freehca::testing {

void run_old_caller(const installation& with) {
  old_release::queue_pair_interface pairs;
  const status asked = with.query("queue_pair", 1, &pairs.head, sizeof pairs);
  ASSERT_TRUE(asked.ok()) << words(asked);
  EXPECT_EQ(pairs.head.bytes, sizeof pairs) << "a newer library writes no more than there is";

  verbs& objects = with.rig.objects;
  operation_room room;
  using namespace old_release;
  const attribute wanted[] = {qp::domain(with.domain), qp::send_cq(with.completions),
                              qp::receive_cq(with.completions), qp::sends(8), qp::receives(8)};
  ASSERT_TRUE(pairs.create(objects, room, wanted).ok());
  ASSERT_TRUE(with.rig.await(*room.started).ok());
  const qp_handle pair = pairs.made(room);
  ASSERT_TRUE(pair);
  ASSERT_TRUE(pairs.destroy(objects, room, pair).ok());
  EXPECT_TRUE(with.rig.await(*room.started).ok());
}

}  // namespace freehca::testing
