// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <freehca/layouts/notice.hpp>

#include "basis/scheduler.hpp"
#include "fabric/mad_packet.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// Sends notices to the subnet manager until it says that it has heard (IBTA vol. 1, 13.4.9,
/// 14.3.6).
class trap_sender final : private work_receiver {
 public:
  /// `send` puts a trap on its way; it is called from the scheduler and from raise().
  trap_sender(scheduler& in, const std::string& owner, std::function<void(const mad_buffer&)> send)
      : work_(in, owner + ", traps", *this), send_(std::move(send)) {}

  template <class N>
  void raise(const layouts::image<N>& notice) {
    raise_bytes(notice.data());
  }
  void repressed(std::uint64_t transaction_id);
  void clear();

 private:
  // Traps are not sent faster than 5 a second (PortInfo:SubnetTimeout 18 is 1 s); how often the
  // firmware repeats one that nobody represses: no source: chosen.
  static constexpr std::uint64_t repeat_after_ns = 1'000'000'000;
  static constexpr unsigned sent_at_most = 5, pending_at_most = 32;

  struct pending {
    mad_buffer mad;
    unsigned sent = 0;
    scheduler::ticket again;

    using saved = saving::fields<&pending::mad, &pending::sent, &pending::again>;
    const char* broken_invariant() const {
      return sent <= sent_at_most ? nullptr : "the trap was sent too often";
    }
  };
  void raise_bytes(const std::byte* notice);
  void send(std::uint64_t transaction_id);

  enum work : std::uint8_t { repeat };  // value: the transaction ID
  void run_item(work_item& what) override { send(what.value); }

  work_source work_;
  std::function<void(const mad_buffer&)> send_;
  std::map<std::uint64_t, pending> pending_;
  std::uint64_t next_transaction_ = 1;

 public:
  using saved = saving::fields<&trap_sender::pending_, &trap_sender::next_transaction_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "a work source"},
                                                       {"send_", "a function set at construction"}};
  const char* broken_invariant() const {
    return pending_.size() <= pending_at_most ? nullptr : "there are too many traps";
  }
};

}  // namespace freehca::model
