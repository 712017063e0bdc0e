// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Tests of what the face promises a program, beside the ends of requests.
#pragma once

#include <vector>

#include "checks.hpp"
#include "endpoint.hpp"

namespace programs {

/// Two queue pairs of one process that are connected with each other, and memory of both.
struct loop {
  explicit loop(opened_device& device, std::uint64_t seed, const pair_options& how = {});
  /// Writes the whole of `from` to `to`, and waits for the completion.
  void write(const std::string& what);
  ibv_send_wr write_request(std::uint64_t id);

  buffer from, to;
  ibv_mr *from_region, *to_region;
  endpoint a, b;
  ibv_sge list;
  static constexpr std::size_t bytes = 5000;
};

std::vector<test> fork_tests();
std::vector<test> channel_tests();
std::vector<test> queue_tests();
std::vector<test> memory_tests();
std::vector<test> signal_tests();
std::vector<test> thread_tests();
std::vector<test> mended_tests();
std::vector<test> refusal_tests();
std::vector<test> window_tests();
std::vector<test> group_tests();
std::vector<test> receive_queue_tests();
std::vector<test> extended_tests();
std::vector<test> flow_rule_tests();

}  // namespace programs
