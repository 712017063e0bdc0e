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
  explicit channel_test(unsigned slots = 4) : slot_count(slots) {
    storage.resize(channel::storage_bytes_for(slots) / sizeof(std::max_align_t) + 1);
    resources = {.hcr = device.command_register(),
                 .mailboxes = device.memory(channel::mailbox_bytes_for(slots)),
                 .storage = reinterpret_cast<std::byte*>(storage.data()),
                 .storage_bytes = storage.size() * sizeof(std::max_align_t),
                 .slots = slots,
                 .platform = device.platform()};
    EXPECT_TRUE(commands.open(resources).ok());
  }
  ~channel_test() override {
    EXPECT_TRUE(commands.idle());
    EXPECT_EQ(commands.slots_in_use(), 0u);
    for (unsigned k = 0; k < lease_kinds; ++k)
      EXPECT_EQ(commands.in_doubt(static_cast<lease_kind>(k)), 0u);
  }

  void use_events(unsigned limit) {
    commands.use_events(limit);
    commands.poll();
  }
  std::uint16_t token_of(std::size_t posted) const {
    return static_cast<std::uint16_t>(device.posted[posted].get<&hcr::token>());
  }
  void complete(std::size_t posted, std::uint8_t status = 0, std::uint64_t output = 0) {
    commands.on_completion(token_of(posted), status, output);
  }
  /// Ends what a test leaves under way, while its commands are still there.
  void finish() { commands.device_was_reset(); }
  void pass(std::uint64_t nanoseconds) { device.now += nanoseconds; }

  unsigned slot_count;
  scripted_device device;
  std::vector<std::max_align_t> storage;
  channel_resources resources;
  reactor loop;
  channel commands{loop};
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
