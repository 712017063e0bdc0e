// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/firmware_cmds/cq.hpp>
#include <freehca/firmware_cmds/hca.hpp>
#include <freehca/firmware_cmds/icm.hpp>
#include <freehca/firmware_cmds/nop.hpp>
#include <freehca/firmware_cmds/query.hpp>

#include "support/scripted_device.hpp"

namespace freehca::testing {

using layouts::command_status;
using layouts::hcr;

inline constexpr std::uint64_t second = 1'000'000'000;

/// A channel on a scripted device.
class channel_test : public ::testing::Test {
 protected:
  explicit channel_test(unsigned slots = 4) : slots_(slots) {
    storage_.resize(channel::storage_bytes_for(slots) / sizeof(std::max_align_t) + 1);
    resources_ = {.hcr = device_.command_register(),
                  .mailboxes = device_.memory(channel::mailbox_bytes_for(slots)),
                  .storage = reinterpret_cast<std::byte*>(storage_.data()),
                  .storage_bytes = storage_.size() * sizeof(std::max_align_t),
                  .slots = slots,
                  .platform = device_.platform()};
    EXPECT_TRUE(channel_.open(resources_).ok());
  }
  ~channel_test() override {
    EXPECT_TRUE(channel_.idle());
    EXPECT_EQ(channel_.slots_in_use(), 0u);
    for (unsigned k = 0; k < lease_kinds; ++k)
      EXPECT_EQ(channel_.in_doubt(static_cast<lease_kind>(k)), 0u);
  }

  void use_events(unsigned limit) {
    channel_.use_events(limit);
    channel_.poll();
  }
  std::uint16_t token_of(std::size_t posted) const {
    return static_cast<std::uint16_t>(device_.posted[posted].get<&hcr::token>());
  }
  void complete(std::size_t posted, std::uint8_t status = 0, std::uint64_t output = 0) {
    channel_.on_completion(token_of(posted), status, output);
  }
  /// Ends what a test leaves under way, while its commands are still there.
  void finish() { channel_.device_was_reset(); }
  void pass(std::uint64_t nanoseconds) { device_.now += nanoseconds; }

  unsigned slots_;
  scripted_device device_;
  std::vector<std::max_align_t> storage_;
  channel_resources resources_;
  channel channel_;
};

/// Counts what its settle function was told.
struct watched_lease {
  explicit watched_lease(lease_kind kind = lease_kind::page, std::uint32_t amount = 1)
      : it(
            kind, amount,
            [](lease&, const settlement& told, void* self) noexcept {
              auto& w = *static_cast<watched_lease*>(self);
              ++w.settled;
              w.how = told;
            },
            this) {}
  lease it;
  unsigned settled = 0;
  settlement how;
};

using nop_command = firmware_command<commands::nop>;
using sw2hw_cq_command = firmware_command<commands::sw2hw_cq>;

}  // namespace freehca::testing
