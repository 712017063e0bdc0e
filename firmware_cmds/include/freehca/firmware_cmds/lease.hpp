// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/assert.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/hal/status.hpp>

namespace freehca {

/// The types of resources that a lease can stand for.
enum class lease_kind : std::uint8_t {
  page,     ///< pages lent to the firmware (firmware area, auxiliary area, context memory)
  mapping,  ///< ranges of context memory or of translation entries
  number,   ///< object numbers (QPN, CQN, MPT index ...) and their handles
  buffer,   ///< memory of queues and of users that an object refers to
  mailbox,  ///< counted by the channel itself
  slot,     ///< counted by the channel itself
};
inline constexpr unsigned lease_kinds = 6;
inline constexpr unsigned kinds_in_leases = 4;  ///< those that the channel does not count itself

/// How the doubt about a command ended.
struct settlement {
  bool by_reset = false;  ///< the device was reset and holds nothing; `answer` is not valid
  status answer;          ///< the late answer: ok, or the firmware's status
};

/// A record that stands for a resource which a command can put at risk. While the firmware may
/// still act on the command, the resource must not be used again. A lease lives with the resource
/// it stands for (an object's slab entry, a run of pages), never with the command, because it can
/// outlast the command. A lease is at risk through one command at a time. If commands put several
/// resources at risk only together, such as the number and the memory of an object, one lease
/// stands for all of them.
///
/// The owner of the resource passes the lease to command::put_at_risk() before submit(). When the
/// command completes, the owner checks in_doubt(). If in_doubt() is false, the resource is the
/// owner's again, in the state that the outcome implies. If in_doubt() is true, the owner must not
/// access or reuse the resource until the channel calls `settle`, which it does once. If the late
/// answer is ok, the firmware did the work: pages may be mapped, an object may exist. The owner
/// must then undo the work, by a command or by a reset, before it reuses the resource.
class lease : public list_node {
 public:
  /// Called inside poll() or device_was_reset() of the channel, after the completion of the command
  /// that put the lease at risk. The lease is free again by then. The settler may submit commands.
  using settler = void (*)(lease& which, const settlement& end, void* context) noexcept;

  /// The lease stands for `amount` units of `kind`. `settle` may be null if no action is needed.
  lease(lease_kind kind, std::uint32_t amount, settler settle, void* context)
      : settle_(settle), context_(context) {
    set_amount(kind, amount);
  }

  std::uint32_t amount(lease_kind kind) const { return amounts_[static_cast<unsigned>(kind)]; }
  /// Sets the units of one kind. `kind` is one of the first kinds_in_leases. Called only while
  /// at_risk() is false.
  void set_amount(lease_kind kind, std::uint32_t amount) {
    FREEHCA_ASSERT(!linked() && static_cast<unsigned>(kind) < kinds_in_leases);
    amounts_[static_cast<unsigned>(kind)] = amount;
  }
  bool at_risk() const { return linked(); }
  bool in_doubt() const { return in_doubt_; }

 private:
  friend class channel;
  settler settle_;
  void* context_;
  std::uint32_t amounts_[kinds_in_leases] = {};
  bool in_doubt_ = false;
};

}  // namespace freehca
