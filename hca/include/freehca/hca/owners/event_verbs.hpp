// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hca/objects/verbs.hpp>
#include <freehca/hca/owner_link.hpp>
#include <freehca/hca/owners/owner_share.hpp>

namespace freehca {

/// The setup of an event owner.
struct event_owner_setup {
  /// The index of the completion context, from 0 to device::completion_contexts() - 1. No other
  /// owner polls this context, and no completion queue of the control owner refers to it.
  unsigned completion_context = 0;
  share_budget share{};
  const char* name = "event context";  ///< name in messages; it outlives the owner
  /// Called on the control owner's thread when a message to this owner arrives while this owner
  /// sleeps (prepare_to_sleep). The port handles the interrupts of this owner: when vector
  /// event_context::vector() fires, the port calls device::on_interrupt() and wakes this owner. If
  /// the event queue of this owner shares its vector, the port need not wake the owner, because
  /// next_deadline() then requests a poll each millisecond. If `wake` is null, the owner does not
  /// sleep, or wakes up by itself.
  inbox::waker wake = nullptr;
  void* wake_context = nullptr;
};

/// The objects of an event owner, which has its own thread. The event owner polls one completion
/// context. It creates and uses its objects as `verbs` does, without a lock and without a store
/// that another owner sees. Only requests to the firmware cross to the control owner, whose thread
/// polls the device, and their answers cross back. Asynchronous events and the notices of resets
/// cross from the control owner to the event owner.
///
/// open() takes a share of the device for this owner (share_budget). Handles are valid for this
/// owner only. A queue pair, its completion queues, its shared receive queue and its protection
/// domain belong to one owner. The keys of memory regions are plain numbers. Each queue pair of the
/// protection domain can use them.
///
/// open() and close() are called on the control owner's thread, while no other thread uses the
/// object. Between the two calls, all other functions, including poll(), are called on one thread
/// of the user's choice. After a reset of the device, objects end as `verbs` describes, when this
/// owner polls. A sequence of the device waits for this poll (device::awaited_owner()). When the
/// device is up again, this owner is up again too (verbs_events::up_again). If the device is closed
/// before this object, a precondition is broken.
///
/// If an operation is destroyed while it is under way, its destructor waits until the control
/// owner's poll() does not use the operation any more. On the control owner's own thread it does
/// not wait, if the platform has current_thread.
class event_verbs : public verbs {
 public:
  /// The size of the storage for a device that is opened with `d`. The storage is aligned to 16.
  static constexpr std::size_t storage_bytes(const budget& d, const verbs_budget& b,
                                             const share_budget& s) {
    return bytes_for(sizes_of(b), b) + owner_share::storage_bytes(d, s) +
           event_relay::storage_bytes();
  }

  event_verbs() = default;
  ~event_verbs();

  /// Like verbs::open(). Further errors: driver_error::bad_argument (no such completion context),
  /// ::busy (the context has an owner, or a completion queue refers to it), ::no_resource and
  /// ::no_memory (`where` is a budget::item: the device does not have such a share).
  status open(device& adapter, const verbs_budget& b, const event_owner_setup& setup,
              std::byte* storage, std::size_t bytes, const verbs_events& events = {});
  /// The number of asynchronous events that this owner has missed because it did not poll for too
  /// long.
  std::uint64_t events_dropped() const { return link_.events.dropped(); }
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
  void release_device();
  void begin();
  void leave();
  void drop(object_operation& op);

  link link_;
  owner_share share_;
  event_context* context_ = nullptr;
  std::uintptr_t control_thread_ = 0;  // 0: not known
  bool working_ = false;               // the device is up, as far as this owner knows
};

}  // namespace freehca
