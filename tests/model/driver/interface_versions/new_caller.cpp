// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/interfaces/every_interface.hpp>

#include "releases.hpp"

namespace freehca::testing {

void run_new_caller(const installation& with) {
  // Everything is needed: an old library says what it has not.
  queue_pair_interface pairs;
  const status asked = with.query("queue_pair", 1, &pairs.head, sizeof pairs);
  if (with.library_is_new) EXPECT_TRUE(asked.ok()) << words(asked);
  else EXPECT_EQ(asked, status(driver_error::unsupported, offsetof(queue_pair_interface, number)));

  // It can do without the new ones.
  pairs = {};
  pairs.head.needed = offsetof(queue_pair_interface, number);
  ASSERT_TRUE(with.query("queue_pair", 1, &pairs.head, sizeof pairs).ok());
  EXPECT_EQ(pairs.modify != nullptr, with.library_is_new);
  EXPECT_EQ(pairs.number != nullptr, with.library_is_new);

  verbs& objects = with.rig.objects;
  operation_room room;
  attribute wanted[] = {qp::domain(with.domain), qp::send_cq(with.completions),
                        qp::receive_cq(with.completions), qp::sends(8), qp::inline_bytes(64)};
  const status strict = pairs.create(objects, room, wanted);
  if (with.library_is_new) {
    ASSERT_TRUE(strict.ok()) << words(strict);
    ASSERT_TRUE(with.rig.await(*room.started).ok());
    const qp_handle pair = pairs.made(room);
    ASSERT_TRUE(pairs.destroy(objects, room, pair).ok());
    ASSERT_TRUE(with.rig.await(*room.started).ok());
  } else {
    EXPECT_EQ(strict, status(driver_error::unknown_attribute, qp::inline_bytes.identifier));
    EXPECT_EQ(room.started, nullptr);
  }

  wanted[4] = optional(wanted[4]);
  ASSERT_TRUE(pairs.create(objects, room, wanted).ok());
  ASSERT_TRUE(with.rig.await(*room.started).ok());
  const qp_handle pair = pairs.made(room);
  ASSERT_TRUE(pair);
  if (pairs.modify != nullptr) {
    EXPECT_NE(pairs.number(objects, pair), 0u);
    ASSERT_TRUE(pairs.modify(objects, room, pair, layouts::qp_state::init, {path::port(1)}).ok());
    EXPECT_TRUE(with.rig.await(*room.started).ok());
  }
  ASSERT_TRUE(pairs.destroy(objects, room, pair).ok());
  EXPECT_TRUE(with.rig.await(*room.started).ok());
}

}  // namespace freehca::testing
