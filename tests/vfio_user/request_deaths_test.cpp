// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Which request processes died of, and what becomes of it.
#include <freehca/keeper/request_deaths.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace freehca::keeper {
namespace {

using vfio_user::command;
using vfio_user::header;
using verdict = request_deaths::verdict;

struct request_deaths_test : ::testing::Test {
  // A process lives, does that many requests, and dies with this one in hand.
  verdict life(unsigned done, command what, std::uint64_t offset = 0) {
    deaths.begin(*state);
    state->requests_done += done;
    const vfio_user::region_access access{offset, vfio_user::bar0_region, 4};
    state->request.head = {next_id++, static_cast<std::uint16_t>(what),
                           sizeof(header) + sizeof access, 0, 0};
    std::memcpy(state->request.body.data(), &access, sizeof access);
    return deaths.end(*state);
  }
  // It refuses the request in hand, serves and dies with this one in hand.
  verdict life_that_refuses(command what, std::uint64_t offset = 0) {
    return life(1, what, offset);
  }

  std::unique_ptr<shared_state> state = std::make_unique<shared_state>();
  request_deaths deaths;
  std::uint16_t next_id = 1;
};

TEST_F(request_deaths_test, the_third_death_in_a_row_refuses_the_request) {
  EXPECT_EQ(verdict::innocent, life(5, command::region_write));
  EXPECT_EQ(verdict::innocent, life(0, command::region_write));
  EXPECT_EQ(verdict::refuse, life(0, command::region_write));
  EXPECT_EQ(static_cast<std::uint16_t>(command::region_write), deaths.command());
}

TEST_F(request_deaths_test, a_process_that_cannot_even_refuse_it_ends_the_client) {
  for (unsigned i = 0; i < 3; ++i) life(0, command::region_write);
  EXPECT_EQ(verdict::hang_up, life(0, command::region_write));
}

TEST_F(request_deaths_test, the_same_request_again_after_it_was_refused_ends_the_client) {
  for (unsigned i = 0; i < 3; ++i) life(0, command::region_write, 8);
  EXPECT_EQ(verdict::innocent, life_that_refuses(command::region_write, 16)) << "another place";
  EXPECT_EQ(verdict::innocent, life(1, command::region_read, 8)) << "another command";
  EXPECT_EQ(verdict::hang_up, life(1, command::region_write, 8));
  deaths.forget();
  EXPECT_EQ(verdict::innocent, life(1, command::region_write, 8)) << "another client";
}

// Whoever kills processes by hand finds one request or another in hand.
TEST_F(request_deaths_test, a_request_that_was_done_by_the_next_process_is_innocent) {
  for (unsigned i = 0; i < 100; ++i) EXPECT_EQ(verdict::innocent, life(1, command::region_read));
}

TEST_F(request_deaths_test, nothing_in_hand) {
  for (unsigned i = 0; i < 2; ++i) life(0, command::region_read);
  state->request.clear();
  deaths.begin(*state);
  EXPECT_EQ(verdict::innocent, deaths.end(*state));
  EXPECT_EQ(verdict::innocent, life(0, command::region_read));
}

// The memory was the dead process's to write.
TEST_F(request_deaths_test, lengths_that_are_none) {
  for (const std::uint32_t bytes : {1u, 15u, 16u, 8208u, 8209u, 0xffffffffu}) {
    deaths.forget();
    state->request.head = {1, 9, bytes, 0, 0};
    for (unsigned i = 0; i < 2; ++i) EXPECT_EQ(verdict::innocent, deaths.end(*state));
    EXPECT_EQ(verdict::refuse, deaths.end(*state)) << bytes;
    EXPECT_EQ(verdict::hang_up, deaths.end(*state)) << bytes;
  }
}

}  // namespace
}  // namespace freehca::keeper
