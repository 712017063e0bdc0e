// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hca/objects/verbs.hpp>
#include <freehca/hca/owner_link.hpp>
#include <freehca/hca/owners/owner_share.hpp>

namespace freehca {

/// Whose an event context is.
struct event_owner_setup {
  /// Which completion context: 0 to device::completion_contexts() - 1. No other owner polls it, and
  /// no completion queue of the control owner's is bound to it.
  unsigned completion_context = 0;
  share_budget share{};
  const char* name = "event context";  ///< for messages; outlives the owner
  /// Called from the control owner's thread when this owner sleeps (prepare_to_sleep) and something
  /// crosses to it. Its interrupts are the port's business: whoever sees vector
  /// event_context::vector() fire calls device::on_interrupt(), and wakes it. An owner whose event
  /// queue shares its vector need not be woken: next_deadline() has it look every millisecond.
  /// Null: it does not sleep, or wakes up by itself.
  inbox::waker wake = nullptr;
  void* wake_context = nullptr;
};

/// The objects of an owner with a thread of its own: it polls one completion context, and makes and
/// uses its objects as `verbs` does, without a lock and without a store that another owner sees.
/// Only what the firmware is asked for crosses to the control owner, whoever polls the device, and
/// back; so do asynchronous events, and resets.
///
/// What it takes of the device is cut off for it when it is opened (share_budget). Its handles are
/// its own: a queue pair, its completion queues, shared receive queue and domain have one owner.
/// Keys of memory regions are numbers, and open the memory to whoever is in the domain.
///
/// open() and close() are called on the control owner's thread, while nobody else uses the object;
/// all else, between them, on one thread of the owner's choice, poll() among it. When the device
/// was reset, objects end as `verbs` says, once this owner polls: a sequence of the device waits
/// for that (device::awaited_owner()). When the device is up again so is this
/// (verbs_events::up_again). Not closed before the device closes: a broken precondition.
class event_verbs : public verbs {
 public:
  /// Storage for a device made from `d`, aligned to 16.
  static constexpr std::size_t storage_bytes(const budget& d, const verbs_budget& b,
                                             const share_budget& s) {
    return bytes_for(sizes_of(b), b) + owner_share::storage_bytes(d, s) +
           event_relay::storage_bytes();
  }

  event_verbs() = default;
  ~event_verbs();

  /// As verbs::open(); besides driver_error::bad_argument (no such completion context), ::busy (it
  /// has an owner), ::no_resource and ::no_memory (budget::item: the device has no such share).
  status open(device& adapter, const verbs_budget& b, const event_owner_setup& setup,
              std::byte* storage, std::size_t bytes, const verbs_events& events = {});
  /// Asynchronous events that this owner did not hear of, because it had not polled for so long.
  std::uint64_t events_lost() const { return link_.events.lost(); }
  const char* name() const { return link_.name; }

 private:
  struct link : owner_link {
    event_verbs* of = nullptr;
  };
  static constexpr directory_sizes sizes_of(const verbs_budget& b) {
    directory_sizes sizes{1, 1, 1};
    const auto room_for = [&b](number_allocator number_spaces::*numbers, std::uint32_t& places) {
      std::uint32_t count = 0;
      for (const verbs_budget::entry& e : b.kinds)
        if (e.what != nullptr && e.what->facts.numbers == numbers) count += e.count;
      while (places < count) places *= 2;
    };
    room_for(&number_spaces::qps, sizes.qps);
    room_for(&number_spaces::cqs, sizes.cqs);
    room_for(&number_spaces::srqs, sizes.srqs);
    return sizes;
  }
  static const location at_event_context;
  static event_verbs& of(verbs& v) { return static_cast<event_verbs&>(v); }
  static const event_verbs& of(const verbs& v) { return static_cast<const event_verbs&>(v); }
  static event_verbs& of(owner_link& l) { return *static_cast<link&>(l).of; }
  static bool concerns(const owner_link& l, const event_relay::entry& event);

  unsigned take();
  void to_owner(crossing& what, crossing::arrival arrive);
  void to_control(crossing& what, crossing::arrival arrive);
  void stop();
  void let_go();
  void begin();
  void leave();

  link link_;
  owner_share share_;
  event_context* context_ = nullptr;
  bool working_ = false;  // the device is up, as far as this owner was told
};

}  // namespace freehca
