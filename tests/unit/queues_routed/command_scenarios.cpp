// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The command channel: the device finds whole commands, and the driver reads whole answers.
#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/firmware_cmds/cq.hpp>
#include <freehca/firmware_cmds/object_contexts.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "event_world.hpp"
#include "observer.hpp"
#include "scenario.hpp"

namespace freehca::queues {
namespace {

using namespace layouts;
using namespace freehca::testing;

struct command_world {
  command_world()
      : boxes((channel::mailbox_bytes_for(1) + 4096) / 8),
        storage(channel::storage_bytes_for(1) / sizeof(std::max_align_t) + 1) {
    operations.now = [](void*) { return std::uint64_t{1'000'000}; };
    EXPECT_TRUE(commands
                    .open({.hcr = {bytes_of(words), hcr::bytes},
                           .mailboxes = {mailboxes(), 0x10000, channel::mailbox_bytes_for(1)},
                           .storage = reinterpret_cast<std::byte*>(storage.data()),
                           .storage_bytes = storage.size() * sizeof(std::max_align_t),
                           .slots = 1,
                           .platform = {&operations, nullptr}})
                    .ok());
    for (std::size_t i = 0; i < cqc::bytes; ++i)
      context.data()[i] = static_cast<std::byte>(0x30 + i % 64);
  }
  std::byte* mailboxes() { return bytes_of(boxes); }
  std::byte* output() { return mailboxes() + mailbox::bytes; }
  std::uint32_t last_word() {
    return layouts::load_be<std::uint32_t>(bytes_of(words) + hcr{}.go.offset);
  }
  void device_clears_go(load_run& run) {
    std::byte word[4];
    layouts::store_be(word, last_word() & ~(std::uint32_t{1} << hcr{}.go.lo));
    run.device_writes(bytes_of(words) + hcr{}.go.offset, word, sizeof word);
  }

  platform_operations operations;
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(4), boxes;
  std::vector<std::max_align_t> storage;
  image<cqc> context;
  reactor loop;
  channel commands{loop};
};

template <class Command>
std::string posted(Command& command, command_world& w, store_buffer& buffer, const trial& which,
                   barrier_sites& sites) {
  // As an earlier command may have left the mailboxes.
  std::memset(w.mailboxes(), 0xa5, channel::mailbox_bytes_for(1));
  buffer.watch(bytes_of(w.words), 32);
  buffer.watch(w.mailboxes(), channel::mailbox_bytes_for(1));
  w.commands.submit(command);
  buffer.record();
  w.commands.poll();
  EXPECT_EQ(w.commands.in_flight(), 1u);
  const store_buffer::view last = buffer.last();
  sites.merge(barrier_sites(buffer.sites()));
  std::string wrong = buffer.explore(
      [&](const store_buffer::view& seen) -> std::string {
        const std::byte* const go = bytes_of(w.words) + hcr{}.go.offset;
        if ((seen.word(go) >> hcr{}.go.lo & 1) == 0) return {};
        if (!same(seen, last, bytes_of(w.words), hcr::bytes)) return "GO, and a word is old";
        if (!same(seen, last, w.mailboxes(), channel::mailbox_bytes_for(1)))
          return "GO, and a mailbox is old, or is yet to be cleared";
        return {};
      },
      which);
  w.commands.device_was_reset();
  return wrong;
}
std::string commands_with_input(const trial& which, barrier_sites& sites) {
  store_buffer buffer;
  command_world w;
  firmware_command<commands::sw2hw_cq> command{5u};
  command.input = w.context;
  return posted(command, w, buffer, which, sites);
}
std::string commands_with_output(const trial& which, barrier_sites& sites) {
  store_buffer buffer;
  command_world w;
  firmware_command<commands::query_cq> command{5u};
  return posted(command, w, buffer, which, sites);
}

std::string answers_polled_for(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        command_world w;
        firmware_command<commands::query_cq> command{5u};
        w.commands.submit(command);
        w.commands.poll();
        run.device_writes(w.output(), w.context.data(), cqc::bytes);
        w.device_clears_go(run);
        run.start();
        w.commands.poll();
        const bool done = command.done();
        w.commands.device_was_reset();
        if (!done) return {};
        if (!command.outcome().ok()) return "a command failed";
        return std::memcmp(command.output.data(), w.context.data(), cqc::bytes) == 0
                   ? ""
                   : "an answer that the device had not finished";
      },
      which, sites);
}

std::string answers_by_event(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        command_world w;
        event_world events;
        firmware_command<commands::query_cq> command{5u};
        w.commands.use_events(1);
        w.commands.submit(command);
        w.commands.poll();
        image<eqe_command> told;
        told.set<&eqe_command::event_type>(event_type::command_completion)
            .set<&eqe_command::token>(image<hcr>::from_bytes(bytes_of(w.words)).get<&hcr::token>());
        w.device_clears_go(run);
        run.device_writes(w.output(), w.context.data(), cqc::bytes);
        run.device_writes(bytes_of(events.ring), told.data(), eqe::bytes);
        run.start();
        image<eqe> seen;
        const bool event = events.queue.next(seen);
        if (event) {
          const auto c = image<eqe_command>::from_bytes(seen.data());
          w.commands.on_completion(static_cast<std::uint16_t>(c.get<&eqe_command::token>()),
                                   static_cast<std::uint8_t>(c.get<&eqe_command::status>()),
                                   c.get<&eqe_command::out_param>());
          w.commands.poll();
        }
        const bool done = command.done();
        w.commands.device_was_reset();
        if (!event) return {};
        if (!done) return "an event that names no command";
        if (!command.outcome().ok()) return "a command failed";
        return std::memcmp(command.output.data(), w.context.data(), cqc::bytes) == 0
                   ? ""
                   : "an answer that the device had not finished";
      },
      which, sites);
}

/// The device writes the next answer into the same mailbox as soon as it sees the next command.
std::string answers_in_one_mailbox(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        command_world w;
        firmware_command<commands::query_cq> first{5u}, second{6u};
        w.commands.submit(first);
        w.commands.poll();
        run.device_writes(w.output(), w.context.data(), cqc::bytes);
        w.device_clears_go(run);
        run.device_waits_for(bytes_of(w.words) + hcr{}.go.offset);
        std::byte other[16] = {};
        run.device_writes(w.output(), other, sizeof other);
        run.start();
        w.commands.submit(second);
        w.commands.poll();
        const bool done = first.done();
        w.commands.device_was_reset();
        if (!done || !first.outcome().ok()) return {};
        return std::memcmp(first.output.data(), w.context.data(), cqc::bytes) == 0
                   ? ""
                   : "the answer to the next command";
      },
      which, sites);
}

}  // namespace

scenario_list command_scenarios() {
  static constexpr scenario all[] = {
      {"commands with input", commands_with_input},
      {"commands with output", commands_with_output},
      {"answers polled for", answers_polled_for},
      {"answers by event", answers_by_event},
      {"answers in one mailbox", answers_in_one_mailbox},
  };
  return all;
}

}  // namespace freehca::queues
