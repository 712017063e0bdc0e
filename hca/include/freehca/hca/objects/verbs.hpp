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

/// The resources in use. All values are zero after all objects were destroyed.
struct verbs_holdings {
  std::uint32_t objects = 0;
  std::uint32_t in_doubt = 0;  ///< number of these objects that are in doubt
  std::size_t request_bytes = 0;
  bool none() const { return objects == 0 && request_bytes == 0; }
};

/// The objects of one owner of a device. Their kinds are those that the verbs_budget names. All
/// that is particular to a kind is in the class of that kind. This class has only the families of
/// the device's events, and for each family a directory that finds an object by its number.
///
/// Objects that the device knows are created, changed and destroyed by operations: create_object,
/// destroy_object, and the operations of each kind. The caller owns such an operation and starts it
/// with start(). Objects that only the driver knows are created and destroyed at once by create()
/// and destroy(). All other functions of an object are members of its kind; find() returns the
/// object.
///
/// One thread uses a verbs object: the thread of the control owner. The objects of an event context
/// with its own thread are in an event_verbs.
class verbs {
 public:
  /// The size of the storage for a device that is opened with `d`. The storage is aligned to 16.
  static constexpr std::size_t storage_bytes(const budget& d, const verbs_budget& b);

  verbs() = default;
  verbs(const verbs&) = delete;
  verbs& operator=(const verbs&) = delete;
  /// Precondition: close() has succeeded, or no operation is under way and no object is in doubt.
  /// If objects are left, the adapter may use them until the device is torn down or reset. The
  /// memory to which they refer must exist until then. The DMA memory that these objects took from
  /// the device stays taken until the device is closed.
  ~verbs();

  /// The device must be up, and it was opened with the budget from which the storage was computed.
  /// Takes over the event sinks of the device. Errors: driver_error::busy (the event sinks are
  /// taken), ::bad_state (the device is not up), ::no_memory (`where` is
  /// verbs_budget::item::storage), ::bad_argument (2^24 or more objects of a kind; or, if `where`
  /// is verbs_budget::item::requests, no room for a single request). After an error, `storage` is
  /// not used any more.
  status open(device& adapter, const verbs_budget& b, std::byte* storage, std::size_t storage_bytes,
              const verbs_events& events = {});
  /// Fails with driver_error::busy if there are objects or if operations are under way. If an
  /// operation of the control owner was refused and is not completed yet, device::poll() completes
  /// it. close() and the destructor of an event_verbs are called on the control owner's thread,
  /// after the event owner's thread has stopped using the object. close() then delivers the
  /// messages that had crossed to the event owner by then (request_ended, device_failed, up_again).
  status close();
  bool is_open() const { return device_ != nullptr; }
  /// Lets another thread use this owner. The owner's thread has ended, or does not use it any more.
  void change_thread() { thread_.store(0, std::memory_order_relaxed); }

  /// Polls the device and completes the operations that have ended. Called instead of
  /// device::poll(). Also polls the completion contexts that have no event owner.
  unsigned poll();
  /// True if objects can be created: the device is up, as far as this owner knows.
  bool up() const { return is_open() && location_->up(*this); }
  /// Called before the owner's thread sleeps, after poll() has found nothing to do. Returns false
  /// if another owner has sent a message since then: the thread must poll once more. If it returns
  /// true, device_setup::wake, or event_owner_setup::wake of an event owner, is called when another
  /// owner sends a message. poll() ends the sleep.
  bool prepare_to_sleep() { return !is_open() || location_->prepare_to_sleep(*this); }
  /// The latest time of the next poll() if no interrupt comes, on the platform's clock. 0 means at
  /// once. Completion queues that the caller polls are not considered.
  std::uint64_t next_deadline() const;

  /// The device calls this (event_sinks::forgotten) after it was reset, or when it can no longer
  /// access memory. Requests end, all objects are gone, handles are stale, and no resources are
  /// held. The reset itself ends the operations that are under way. An object that an operation
  /// works on, or that is in doubt, gives back its resources at once; the object itself is released
  /// when the operation ends or the doubt is settled.
  void forget();

  /// Creates an object that only the driver knows. Errors: driver_error::bad_state (the device is
  /// not up), ::no_resource, ::unsupported (the budget does not name the kind), and the errors of
  /// the kind.
  template <class K>
  requires(!device_kind<K>) result<handle<K>> create(const typename K::attributes& attributes = {});
  /// Errors: driver_error::busy (other objects refer to the object), ::stale_handle.
  template <class K>
  requires(!device_kind<K>) status destroy(handle<K> h) { return destroy_now(find(h)); }

  /// Returns the object, or null for a stale handle. The object exists until it is destroyed. The
  /// caller may use the members for posting, polling and counting. Only the driver writes the other
  /// members.
  template <class K>
  K* find(handle<K> h) const {
    return static_cast<K*>(find(h.index, h.generation, identity_of<K>));
  }
  template <class K>
  static handle<K> handle_of(const K& object) {
    return {object.index, object.generation};
  }

  verbs_holdings holdings() const;
  /// The number of objects of kind K, without the objects of kinds that stand in for K.
  template <class K>
  std::uint32_t held() const {
    const slab* const objects = slab_of(kind_of<K>);
    return objects != nullptr ? objects->out() : 0;
  }
  device& adapter() const { return *device_; }

  // Only the kinds of objects call the functions below. The object records each resource that they
  // take, and release() gives back what the object has recorded.

  /// Takes an object from the slab of its kind. Errors: driver_error::bad_state (the device is not
  /// up), ::unsupported (the budget does not name the kind), ::no_resource.
  result<object_record*> take(const kind& what);
  /// Ok if other objects may refer to the object and operations may work on it. Errors:
  /// driver_error::stale_handle (null), ::busy.
  static status usable(const object_record* object);
  /// Takes a number from the number space of the kind. Error: driver_error::no_resource.
  status take_number(object_record& object);
  status take_translations(device_object& object, std::size_t pages);
  /// Takes the ring, the doorbell record (unless `record_bytes` is 0), places for `requests`
  /// requests, and translation entries for the ring. `pages` receives the pages of the ring.
  status take_rings(queue_object& object, std::size_t ring_bytes, std::size_t record_bytes,
                    std::size_t requests, page_list& pages);
  /// Gives back all resources of the object, and then the object.
  void release(object_record& object);
  /// The doorbell page (UAR) of this owner.
  const uar_page& uar() const { return *source_.uar; }
  /// The event context that reports the completions of a queue. Null if this owner does not poll
  /// such a context.
  event_context* event_queue(unsigned completion_context) const {
    return location_->event_queue(*this, completion_context);
  }
  queues::qp_directory& queue_pairs() { return queue_pairs_; }
  number_directory& completion_queues() { return completion_queues_; }
  number_directory& shared_receive_queues() { return shared_receive_queues_; }
  const verbs_events& events() const { return events_; }
  /// Reports a request that the reset of the device ended.
  void tell_ended(qp_handle queue, void* cookie, const queues::work_completion& completion,
                  status why) const {
    if (events_.request_ended != nullptr)
      events_.request_ended(events_.context, queue, cookie, completion, why);
  }

 private:
  friend class object_operation;
  friend struct device_object;
  friend class event_verbs;

  /// The functions in which the control owner and an event owner differ.
  struct location {
    unsigned (*poll)(verbs& v);
    std::uint64_t (*next_deadline)(const verbs& v);
    bool (*up)(const verbs& v);
    bool (*prepare_to_sleep)(verbs& v);
    event_context* (*event_queue)(const verbs& v, unsigned completion_context);
    /// ask() passes a step of an operation to the control owner. answer() passes the answer back to
    /// the operation's owner. stop() asks the control owner to end the step early.
    void (*ask)(verbs& v, object_operation& step);
    void (*answer)(verbs& v, object_operation& step);
    void (*stop)(verbs& v, object_operation& step);
    /// Called when the operation is destroyed. After drop() returns, no owner uses the operation
    /// any more.
    void (*drop)(verbs& v, object_operation& step);
    /// The control owner calls this when the leases of the object are settled. It passes the
    /// settlement to the object's owner.
    void (*settle)(verbs& v, device_object& object);
    void (*close)(verbs& v);
    const char* (*name)(const verbs& v);
  };
  /// The sources of the resources of objects.
  struct source {
    number_spaces* numbers;
    dma_arena* arena;
    dma_arena* doorbells;
    const uar_page* uar;
    // Numbers with unusable context memory are skipped. Null if this is not the control owner: only
    // the control owner can check this.
    const context_tables* contexts;
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
  /// In a debug build, traps if another thread has used this owner.
  void expect_own_thread() const;
  void settle(device_object& object);
  void resume(object_record& object);

  slab* slab_of(const kind& what);
  const slab* slab_of(const kind& what) const { return const_cast<verbs*>(this)->slab_of(what); }
  object_record* find(std::uint32_t index, std::uint32_t generation,
                      const kind_identity& expected) const;
  /// Calls f for every object that is not free, in the order of the kinds.
  template <class F>
  void each(F f) const {
    for (unsigned k = 0; k < kinds_; ++k)
      for (std::uint32_t i = 0; i < slabs_[k].count(); ++i)
        if (object_record& object = slabs_[k].at(i); object.state != object_record::phase::free)
          f(object);
  }
  status destroy_now(object_record* object);
  /// Gives back all resources of the object. The object can no longer be used, but its handle is
  /// not stale yet.
  void strip(object_record& object);
  void want_back(device_object& object);
  void close_slabs();
  void reap();
  void end_requests();

  void connect_events();
  void disconnect_events();
  void notice(object_record* object, const object_event& event);

  /// The reactor of an event owner, and of an owner that is not open. An open control owner uses
  /// the reactor of the device.
  reactor own_;
  reactor* reactor_ = &own_;
  device* device_ = nullptr;
  const location* location_ = &at_control;
  source source_{};
  verbs_events events_;
  status failure_;  // the reason of the failure of the device, if it failed
  slab slabs_[verbs_budget::most_kinds];
  unsigned kinds_ = 0;
  queues::qp_directory queue_pairs_;
  number_directory completion_queues_, shared_receive_queues_;
  dma_arena requests_;  // plain memory for the records of posted requests
  list<device_object> reclaimable_;
  object_operation reaper_;
  std::uint32_t operations_ = 0;
  // Used in debug builds: the thread of the owner. 0 means that it is not known yet.
  mutable std::atomic<std::uintptr_t> thread_{0};
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
