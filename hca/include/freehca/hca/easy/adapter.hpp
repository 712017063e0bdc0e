// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/hca/device.hpp>
#include <freehca/hca/kinds/address_handle.hpp>
#include <freehca/hca/objects/verbs.hpp>

#include <freehca/hca/easy/operations.hpp>

namespace freehca::easy {

/// The kinds of objects that an adapter makes, and how many of each. A program with objects of its
/// own adds to them by with<K>().
constexpr verbs_budget usual_kinds() {
  return verbs_budget{}
      .with<protection_domain>(1)
      .with<memory_region>(32)
      .with<address_handle>(16)
      .with<completion_queue>(16)
      .with<queue_pair>(16);
}

/// How large an adapter is made. Memory that allocate() gives comes out of budget::queue_bytes, and
/// is counted in pages.
struct sizes {
  freehca::budget budget;
  verbs_budget objects = usual_kinds();
};

/// What an adapter is made of. Platform and storage outlive it.
struct setup {
  freehca::platform platform;
  sizes size;
  std::byte* storage = nullptr;  ///< adapter::storage_bytes(size), aligned to 16
  std::size_t storage_bytes = 0;
  bool take_over = false;                       ///< device_setup::take_over
  std::uint64_t port_wait = default_port_wait;  ///< device_setup::port_wait
  std::uint64_t link_wait = default_link_wait;  ///< device_setup::link_wait
  /// device_setup::wake: other owners (event_verbs) wake the thread that polls the adapter.
  inbox::waker wake = nullptr;
  void* wake_context = nullptr;
  /// Told of all that no connection of this adapter waits for.
  verbs_events events;
};

/// An adapter as a program uses it: a device, its verbs objects, and operations that bring memory
/// and connections by one step each. Nothing waits. Each function below starts an operation and
/// gives it to the caller, in place:
///
///   auto opened = hca.open_rc();   // then(), co_await, or poll() until opened.done()
///
/// They end as object_operation says; besides: driver_error::bad_state (the adapter is not up),
/// ::stale_handle, ::busy (an operation works on the same thing), ::no_resource (all places of the
/// budget are taken). The thread of the control owner.
class adapter {
 public:
  /// Bytes of `setup::storage`.
  static constexpr std::size_t storage_bytes(const sizes& size) {
    return places_bytes(size) + device::storage_bytes(size.budget) +
           verbs::storage_bytes(size.budget, size.objects);
  }

  adapter() = default;
  adapter(const adapter&) = delete;
  adapter& operator=(const adapter&) = delete;
  /// No operation is under way. Of a device that is not down: device::close().
  ~adapter();

  /// As device::open().
  status open(const setup& given);

  /// The device, its verbs objects and a protection domain. Outcomes: device::bring_up(),
  /// verbs::open().
  bringing_up bring_up() { return bringing_up(*this); }
  /// From any state to down. Connections are closed and then memory is released, one after the
  /// other, each in the reverse order of their making; what cannot be is ended by a reset. Memory
  /// comes last because a request of any connection may still name it. cancel() and a deadline that
  /// passes end that part alone.
  /// Outcomes: device::tear_down().
  tearing_down tear_down() { return tearing_down(*this); }

  /// Memory of the device's arena, zeroed, with a region: it lives until release() or tear_down().
  allocating allocate(std::size_t bytes, rights allowed = rights::local) {
    return {*this, bytes, allowed};
  }
  /// Registers memory of the program, of any alignment: a pointer and a length, or a contiguous
  /// range as std::span, std::vector or std::string. It must stay until release() or tear_down().
  /// Memory may be registered more than once. The device only reads a range of constants. Outcomes
  /// besides: those of the platform's map_memory(), driver_error::unsupported (it has none).
  allocating register_memory(std::byte* first, std::size_t bytes, rights allowed = rights::local) {
    return {*this, {.first = first, .bytes = bytes}, allowed, false};
  }
  template <class Range>
  requires requires(Range& r) { r.data() + r.size(); }
  allocating register_memory(Range&& range, rights allowed = rights::local) {
    using element = std::remove_pointer_t<decltype(range.data())>;
    static_assert(std::is_trivially_copyable_v<element>);
    const program_memory own{
        reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<element>*>(range.data())),
        range.size() * sizeof(element)};
    return {*this, own, allowed, std::is_const_v<element>};
  }
  /// No request may name it any more. Where the device refuses, the memory is there as before.
  releasing release(const memory& what) { return {*this, what}; }

  /// A reliable connection that waits for connect(): receives may be posted. driver_error::
  /// bad_state also: the port is not active; ::bad_argument: the P_Key table has none there.
  opening open_rc(const connection_options& options = {}) {
    return {*this, layouts::qp_service::rc, options};
  }
  /// A queue pair for datagrams, which may send at once: posts name a peer by address_of(). The
  /// peer's option `qkey` is what a post brings along.
  opening open_ud(const connection_options& options = {}) {
    return {*this, layouts::qp_service::ud, options};
  }
  /// To the other side. Packets are as large as both sides take, and have a GRH if the peer's GID
  /// is of another subnet. driver_error::bad_argument also: the peer is in another partition. A
  /// connection that was connected before, or has failed, begins again: its receives are forgotten.
  /// One that fails leaves it as open_rc() does, but for what was not answered.
  connecting connect(const connection& what, const peer& to) { return {*this, what, to}; }
  /// Requests that are out are forgotten; who waits for them ends with driver_error::stale_handle.
  closing close(const connection& what) { return {*this, what}; }

  /// The next completion of a send or receive, in the order in which they come. Any number may
  /// wait; the first who asked is the first who gets one.
  next_completion next(const connection& of) { return {*this, of}; }

  /// Where the datagrams of a connection go to; given back by objects().destroy(), or at
  /// tear_down(). driver_error::no_resource, ::stale_handle, ::bad_argument.
  result<ah_handle> address_of(const connection& from, const peer& to);

  /// Completes what ended. Instead of device::poll() and verbs::poll(). Returns how much that was.
  unsigned poll();
  /// When poll() is due at the latest if no interrupt comes; 0: at once.
  std::uint64_t next_deadline() const;

  bool up() const { return phase_ == phase::up; }
  /// What it stands on, for all that has no function here. The device's sequences are not to be
  /// started past the adapter.
  device& hardware() { return device_; }
  verbs& objects() { return verbs_; }
  pd_handle domain() const { return domain_; }
  /// Memories and connections that are there, or could not be taken back yet.
  std::uint32_t places_taken() const;

 private:
  friend class sequence;
  friend class taking_back;
  friend class bringing_up;
  friend class tearing_down;
  friend class allocating;
  friend class opening;
  friend class connecting;
  friend class next_completion;
  enum class phase : std::uint8_t { down, coming_up, up, going_down };

  static constexpr std::uint32_t places_for(const verbs_budget& b) {
    return b.count<memory_region>() + b.count<queue_pair>();
  }
  static constexpr std::size_t places_bytes(const sizes& size) {
    return freehca::detail::up_to_16(places_for(size.objects) * sizeof(place));
  }

  freehca::reactor& reactor() { return device_.commands().reactor(); }
  /// The place if it is this adapter's and `serial` still has it; else null.
  place* find_place(place* p, std::uint32_t serial) const;
  /// Null: all are taken.
  place* take_place();
  void vacate(place& p);
  /// Nobody has it, and not all of it could be taken back.
  void leave(place& p);
  bool can_be_taken_back(const place& p) const;
  void reap();
  unsigned look_for_completions(place& p);
  unsigned hand_out(place& p);
  void end_waiting(place& p, status why);
  status open_objects();
  status close_objects();
  verbs_events own_events();

  device device_;
  verbs verbs_;
  setup setup_;
  std::byte* verbs_storage_ = nullptr;
  place* places_ = nullptr;
  std::uint32_t place_count_ = 0, left_ = 0;
  std::uint32_t last_serial_ = 0;  // of places, in the order in which they were taken
  phase phase_ = phase::down;
  status failure_;  // what the device died of
  pd_handle domain_{};
  tearing_down* ending_ = nullptr;  // goes on at the end of poll()
  tearing_down closer_;             // in place of one that was destroyed
  taking_back reaper_;              // of what is left
  place* reaped_ = nullptr;
};

}  // namespace freehca::easy
