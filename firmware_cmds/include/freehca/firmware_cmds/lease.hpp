// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/assert.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/hal/status.hpp>

namespace freehca {

/// What a lease keeps from being used again.
enum class lease_kind : std::uint8_t {
  page,     ///< pages lent to the firmware (firmware area, auxiliary area, context memory)
  mapping,  ///< ranges of context memory or of translation entries
  number,   ///< object numbers (QPN, CQN, MPT index ...) and their handles
  buffer,   ///< memory of queues and of users that an object refers to
  mailbox,  ///< counted by the channel itself
  slot,     ///< counted by the channel itself
};
inline constexpr unsigned lease_kinds = 6;

/// How a command that had not been answered in time came to its end.
struct settlement {
  bool by_reset = false;  ///< the device was reset and holds nothing; `answer` says nothing
  status answer;          ///< the late answer: ok, or the firmware's status
};

/// Something that a command puts at risk: while the firmware may still act on the command, it must
/// not be used again. It lives with the thing it stands for (an object's slab entry, a run of
/// pages), never with the command, because it can outlast the command. At risk through one command
/// at a time.
///
/// The owner hands it over with command::put_at_risk() before submit(). When the command completes,
/// either in_doubt() is false, and what it stands for is the owner's again, as the outcome says; or
/// in_doubt() is true, and the owner must not touch or reuse it until the channel calls `settle`,
/// once. A late answer that is ok means that the firmware did the work: pages may be mapped, an
/// object may exist, and it is the owner who takes that back (by a command, or by a reset) before
/// reuse.
class lease : public list_node {
 public:
  /// Called from poll() or device_was_reset() of the channel, after the completion of the command
  /// it belonged to. The lease is free again at that time; may submit commands.
  using settler = void (*)(lease& which, const settlement& end, void* context) noexcept;

  /// Stands for `amount` units of `kind`. `settle` may be null for something that needs no action.
  lease(lease_kind kind, std::uint32_t amount, settler settle, void* context)
      : settle_(settle), context_(context), amount_(amount), kind_(kind) {}

  lease_kind kind() const { return kind_; }
  std::uint32_t amount() const { return amount_; }
  /// Only while it is not at risk.
  void set_amount(std::uint32_t amount) {
    FREEHCA_ASSERT(!linked());
    amount_ = amount;
  }
  bool at_risk() const { return linked(); }
  bool in_doubt() const { return in_doubt_; }

 private:
  friend class channel;
  settler settle_;
  void* context_;
  std::uint32_t amount_;
  lease_kind kind_;
  bool in_doubt_ = false;
};

}  // namespace freehca
