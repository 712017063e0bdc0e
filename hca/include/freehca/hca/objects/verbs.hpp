// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <freehca/hal/dma_arena.hpp>
#include <freehca/hal/page_list.hpp>
#include <freehca/hal/reactor.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/queues/directory.hpp>

#include <freehca/hca/device.hpp>
#include <freehca/hca/objects/handle.hpp>
#include <freehca/hca/objects/number_directory.hpp>
#include <freehca/hca/objects/object.hpp>
#include <freehca/hca/objects/object_operation.hpp>
#include <freehca/hca/objects/slab.hpp>
#include <freehca/hca/objects/verbs_budget.hpp>
#include <freehca/hca/objects/verbs_events.hpp>

namespace freehca {

/// What is there; all zero after everything was destroyed.
struct verbs_holdings {
  std::uint32_t objects = 0;
  std::uint32_t in_doubt = 0;  ///< of these
  std::size_t request_bytes = 0;
  bool none() const { return objects == 0 && request_bytes == 0; }
};

/// The objects of one device, of the kinds that its budget names. What a kind is stands in the
/// kind; here are only the families of the device's events, each with a directory of who has its
/// numbers.
/// Objects that the device knows are made, changed and taken back by operations, which the caller
/// owns and start() begins (create_object, destroy_object, and those of each kind); the others by
/// create() and destroy() at once. What an object can do besides stands in its kind, for which
/// find() gives it. One owner thread, the device's; those of an event context with a thread of its
/// own are an event_verbs.
class verbs {
 public:
  /// Storage for a device made from `d`, aligned to 16.
  static constexpr std::size_t storage_bytes(const budget& d, const verbs_budget& b);

  verbs() = default;
  verbs(const verbs&) = delete;
  verbs& operator=(const verbs&) = delete;
  /// close() has succeeded, or there is no operation under way and no object in doubt. Objects that
  /// are still there stay the adapter's until the device is torn down or reset: their memory must
  /// outlive that. What they had of the device's memory is out until the device is closed.
  ~verbs();

  /// The device is up and was opened with `d`; takes over its event sinks. driver_error::bad_state
  /// (not up), ::no_memory (verbs_budget::item::storage), ::bad_argument (::requests: no room for a
  /// single one; or more than 2^24 objects of a kind). After an error nothing is kept of `storage`.
  status open(device& adapter, const verbs_budget& b, std::byte* storage, std::size_t storage_bytes,
              const verbs_events& events = {});
  /// driver_error::busy: there are objects, or operations under way. An operation of the control
  /// owner that was refused, and is not completed yet, is completed by device::poll(). close() of
  /// an event_verbs runs on the control owner's thread, as its destructor does, when its own thread
  /// uses it no more: what had crossed to it by then is told there (request_ended, device_failed,
  /// up_again).
  status close();
  bool is_open() const { return device_ != nullptr; }
  /// Its thread has ended, or leaves it to another.
  void change_thread() { thread_.store(0, std::memory_order_relaxed); }

  /// Polls the device and completes what ended. Instead of device::poll(). Completion contexts are
  /// polled too, but for those that have an owner of their own.
  unsigned poll();
  /// Objects can be made: the device is up, as far as this owner knows.
  bool up() const { return is_open() && location_->up(*this); }
  /// Before its thread sleeps, when poll() has found nothing: false means that another owner has
  /// asked for something since. True: device_setup::wake, or that of the event context, is called
  /// when one does; poll() ends the sleep.
  bool prepare_to_sleep() { return !is_open() || location_->prepare_to_sleep(*this); }
  /// When poll() is due at the latest if no interrupt comes; 0: at once. Completion queues are the
  /// caller's to poll.
  std::uint64_t next_deadline() const;

  /// The device was reset, or can no longer reach memory: requests end, all objects are gone,
  /// handles are stale, nothing is held. Operations under way end by the reset by themselves. The
  /// device calls it (event_sinks::forgotten).
  void forget();

  /// Makes an object that the driver alone knows. driver_error::bad_state (the device is not up),
  /// ::no_resource, ::unsupported (a kind that the budget does not name), and what the kind
  /// refuses.
  template <class K>
  requires(!device_kind<K>) result<handle<K>> create(const typename K::attributes& attributes = {});
  /// driver_error::busy while other objects refer to it, ::stale_handle.
  template <class K>
  requires(!device_kind<K>) status destroy(handle<K> h) { return destroy_now(find(h)); }

  /// The object; null for a stale handle. It is there until it is destroyed, and its hot half is
  /// the caller's to use; the rest of it is the driver's to write.
  template <class K>
  K* find(handle<K> h) const {
    return static_cast<K*>(find(h.index, h.generation, identity_of<K>));
  }
  template <class K>
  static handle<K> handle_of(const K& object) {
    return {object.index, object.generation};
  }

  verbs_holdings holdings() const;
  /// Objects of K alone, without those of kinds that stand in for K.
  template <class K>
  std::uint32_t held() const {
    const slab* const objects = slab_of(kind_of<K>);
    return objects != nullptr ? objects->out() : 0;
  }
  device& adapter() const { return *device_; }

  // For kinds of objects, and called by nobody else. Whatever they take is named in the object,
  // from where it is given back.

  /// Room for an object. driver_error::bad_state (the device is not up), ::unsupported,
  /// ::no_resource.
  result<object_record*> take(const kind& what);
  /// May it be referred to, or worked on? driver_error::stale_handle for null, ::busy.
  static status usable(const object_record* object);
  /// driver_error::no_resource.
  status take_number(object_record& object);
  status take_translations(device_object& object, std::size_t pages);
  /// Ring, doorbell record (if it has bytes), places for `requests` requests, and translations of
  /// the ring.
  status take_rings(queue_object& object, std::size_t ring_bytes, std::size_t record_bytes,
                    std::size_t requests);
  /// Gives back everything that the object names, and the object.
  void release(object_record& object);
  /// The page of doorbells of this owner.
  const uar_page& uar() const { return *source_.uar; }
  /// The event queue that tells of completions: one of those that this owner polls. null: none.
  event_context* event_queue(unsigned completion_context) const {
    return location_->event_queue(*this, completion_context);
  }
  queues::qp_directory& queue_pairs() { return queue_pairs_; }
  number_directory& completion_queues() { return completion_queues_; }
  number_directory& shared_receive_queues() { return shared_receive_queues_; }
  const verbs_events& events() const { return events_; }
  /// Tells of a request that the reset of the device ended.
  void tell_ended(qp_handle queue, void* cookie, const queues::work_completion& completion,
                  status why) const {
    if (events_.request_ended != nullptr)
      events_.request_ended(events_.context, queue, cookie, completion, why);
  }

 private:
  friend class object_operation;
  friend struct device_object;
  friend class event_verbs;

  /// Where the owner is: what differs between the control owner and that of an event context.
  struct location {
    unsigned (*poll)(verbs& v);
    std::uint64_t (*next_deadline)(const verbs& v);
    bool (*up)(const verbs& v);
    bool (*prepare_to_sleep)(verbs& v);
    event_context* (*event_queue)(const verbs& v, unsigned completion_context);
    /// The operation's step goes to the control owner, and its answer comes from there; so does the
    /// wish to end the step early.
    void (*ask)(verbs& v, object_operation& step);
    void (*answer)(verbs& v, object_operation& step);
    void (*stop)(verbs& v, object_operation& step);
    /// The operation is being destroyed: when this returns nobody uses it any more.
    void (*drop)(verbs& v, object_operation& step);
    /// Called by the control owner.
    void (*settle)(verbs& v, device_object& object);
    void (*close)(verbs& v);
    const char* (*name)(const verbs& v);
  };
  /// What objects are made of.
  struct source {
    number_spaces* numbers;
    dma_arena* arena;
    dma_arena* doorbells;
    const uar_page* uar;
    bool filtered;  // context memory may be looked at: it is the control owner's
  };
  struct directory_sizes {
    std::uint32_t qps, cqs, srqs;
  };
  static const location at_control;
  static constexpr std::size_t bytes_for(const directory_sizes& sizes, const verbs_budget& b);
  status open_at(const location& where, const source& from, device& adapter,
                 const directory_sizes& sizes, const verbs_budget& b, std::byte* storage,
                 std::size_t bytes, const verbs_events& events);
  event_sinks sinks();
  /// A debug build traps when another thread has used this owner.
  void expect_own_thread() const;
  void settle(device_object& object);
  void resume(object_record& object);

  slab* slab_of(const kind& what);
  const slab* slab_of(const kind& what) const { return const_cast<verbs*>(this)->slab_of(what); }
  object_record* find(std::uint32_t index, std::uint32_t generation,
                      const kind_identity& wanted) const;
  /// Calls f for every object that is not free, in the order of the kinds.
  template <class F>
  void each(F f) const {
    for (unsigned k = 0; k < kinds_; ++k)
      for (std::uint32_t i = 0; i < slabs_[k].count(); ++i)
        if (object_record& object = slabs_[k].at(i); object.state != object_record::phase::free)
          f(object);
  }
  status destroy_now(object_record* object);
  void write_translations(const device_object& object, const page_list& pages);
  /// Gives back everything that the object names; it is of no use any more, but its handle is not
  /// stale yet.
  void strip(object_record& object);
  void want_back(device_object& object);
  void close_slabs();
  void reap();
  void end_requests();

  void connect_events();
  void disconnect_events();
  void notice(object_record* object, const object_event& event);

  /// Of an owner with a thread of its own, or of one that is not open; the control owner's objects
  /// wait with the device.
  reactor own_;
  reactor* reactor_ = &own_;
  device* device_ = nullptr;
  const location* location_ = &at_control;
  source source_{};
  verbs_events events_;
  status failure_;  // what the device died of, if it did
  slab slabs_[verbs_budget::most_kinds];
  unsigned kinds_ = 0;
  queues::qp_directory queue_pairs_;
  number_directory completion_queues_, shared_receive_queues_;
  dma_arena requests_;  // plain memory, divided
  list<device_object> unwanted_;
  object_operation reaper_;
  std::uint32_t operations_ = 0;
  mutable std::atomic<std::uintptr_t> thread_{0};  // of debug builds: whose it is; 0: not known yet
};

namespace detail {
constexpr std::size_t up_to_16(std::size_t n) {
  return (n + 15) / 16 * 16;
}
inline constexpr std::size_t request_unit = 64;
}  // namespace detail

constexpr std::size_t verbs::bytes_for(const directory_sizes& sizes, const verbs_budget& b) {
  using detail::up_to_16;
  const std::size_t requests =
      up_to_16(std::size_t{b.requests} * sizeof(queues::posted_request)) + detail::request_unit;
  std::size_t bytes = 0;
  for (const verbs_budget::entry& e : b.kinds)
    if (e.what != nullptr) bytes += slab::storage_bytes_for(*e.what, e.count);
  for (const std::uint32_t places : {sizes.qps, sizes.cqs, sizes.srqs})
    bytes += up_to_16(places * sizeof(void*));
  return bytes + up_to_16(requests) +
         up_to_16(dma_arena::storage_bytes_for(requests, detail::request_unit));
}

constexpr std::size_t verbs::storage_bytes(const budget& d, const verbs_budget& b) {
  return bytes_for(directory_sizes{1u << d.log_qps, 1u << d.log_cqs, 1u << d.log_srqs}, b);
}

template <class K>
requires(!device_kind<K>) result<handle<K>> verbs::create(
    const typename K::attributes& attributes) {
  const result<object_record*> taken = take(kind_of<K>);
  if (!taken.ok()) return taken.error();
  K& object = static_cast<K&>(*taken.value());
  if (const status s = object.build(*this, attributes); !s.ok()) {
    release(object);
    return s;
  }
  object.state = object_record::phase::live;
  return handle_of(object);
}

}  // namespace freehca
