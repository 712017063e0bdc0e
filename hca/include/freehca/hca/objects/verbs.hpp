// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <freehca/hal/dma_arena.hpp>
#include <freehca/hal/page_list.hpp>
#include <freehca/hal/reactor.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/queues/directory.hpp>

#include <freehca/hca/attribute_ids.hpp>
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

/// The setup of an event owner.
struct event_owner_setup {
  /// The index of the completion context, from 0 to device::completion_contexts() - 1. No other
  /// owner polls this context, and no completion queue of the control owner refers to it.
  unsigned completion_context = 0;
  const char* name = "event context";  ///< name in messages; it outlives the owner
  /// Called on the control owner's thread when a message to this owner arrives while this owner
  /// sleeps (prepare_to_sleep). The port handles the interrupts of this owner: when vector
  /// event_context::vector() fires, the port calls device::on_interrupt() and wakes this owner. If
  /// the event queue of this owner shares its vector, the port need not wake the owner, because
  /// next_deadline() then requests a poll each millisecond. If `wake` is null, the owner does not
  /// sleep, or wakes up by itself.
  inbox::waker wake = nullptr;
  void* wake_context = nullptr;
  entry_check entry{};  ///< whether the calling thread has entered this owner, for debug builds
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
/// One thread at a time uses a verbs object and the rings of its objects: a thread that has entered
/// the owner. If several threads share an owner, each of them holds the program's lock for this
/// owner during its calls. If the owner has an entry_check, debug builds report a thread that has
/// not entered it, and trap.
///
/// The first open() makes it the verbs object of the control owner. The second open() makes it the
/// verbs object of an event owner, which polls one completion context. An event owner creates and
/// uses its objects without a lock and without a store that another owner sees. Only the steps of
/// its operations cross to the control owner, which polls the device, and their answers cross back.
/// Asynchronous events and the notices of resets cross from the control owner to the event owner.
///
/// Handles are valid for one owner only. A queue pair, its completion queues, its shared receive
/// queue and its protection domain belong to one owner. The keys of memory regions are plain
/// numbers. Each queue pair of the protection domain can use them. The budget of the device is for
/// the objects of all owners.
///
/// The caller of open() and close() of an event owner has entered both owners. After a reset of the
/// device, objects end when this owner polls. A sequence of the device waits for this poll
/// (device::awaited_owner()). When the device is up again, this owner is up again too
/// (verbs_events::up_again). If the device is closed before this object, a precondition is broken.
///
/// If an operation of an event owner is destroyed while it is under way, its destructor waits until
/// the control owner's poll() does not use the operation any more. If device_setup::entry says that
/// the caller has entered the control owner too, the destructor does not wait. Without this answer,
/// a caller that has entered both owners would wait for itself.
class verbs {
 public:
  /// The size of the control owner's storage for a device that is opened with `d`. The storage is
  /// aligned to 16.
  static constexpr std::size_t storage_bytes(const budget& d, const verbs_budget& b);
  /// The same for an event owner.
  static constexpr std::size_t event_owner_storage_bytes(const verbs_budget& b);

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
  /// The same for an event owner. Further errors: driver_error::bad_argument (no such completion
  /// context), ::busy (the context has an owner, or a completion queue refers to it), ::no_resource
  /// (`where` is budget::item::uars).
  status open(device& adapter, const verbs_budget& b, const event_owner_setup& setup,
              std::byte* storage, std::size_t storage_bytes, const verbs_events& events = {});
  /// Fails with driver_error::busy if there are objects or if operations are under way. If an
  /// operation of the control owner was refused and is not completed yet, device::poll() completes
  /// it. The caller of close() or of the destructor of an event owner has entered both owners.
  /// close() then delivers the messages that had crossed to the event owner by then (request_ended,
  /// device_failed, up_again).
  status close();
  bool is_open() const { return device_ != nullptr; }

  /// Polls the device and completes the operations that have ended. Called instead of
  /// device::poll(). Also polls the completion contexts that have no event owner.
  unsigned poll();
  /// Calls poll() until a call has found nothing and the next one is not due at once. All that was
  /// due is then delivered, and the event queues are armed. Calls poll() at most `most_turns`
  /// times, because a device may send events without end. The next poll() is then still due.
  void poll_all(unsigned most_turns);
  /// True if objects can be created. The control owner asks the device. An event owner learns that
  /// the device is down when the control owner asks it to stop or to release the device, which can
  /// be later than verbs_events::device_failed.
  bool up() const { return is_open() && (link_ != nullptr ? link_->working : device_->up()); }
  /// Called before the owner's thread sleeps, after poll() has found nothing to do. Returns false
  /// if another owner has sent a message since then: the thread must poll once more. If it returns
  /// true, device_setup::wake, or event_owner_setup::wake of an event owner, is called when another
  /// owner sends a message. poll() ends the sleep. If another thread sleeps for this owner, the
  /// thread that has called poll() wakes it before it leaves the owner.
  bool prepare_to_sleep();
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
    return static_cast<K*>(find(h.bits(), identity_of<K>));
  }
  template <class K>
  static handle<K> handle_of(const K& object) {
    return {object.index, object.generation};
  }

  verbs_holdings holdings() const;
  /// The number of asynchronous events that an event owner has missed because it did not poll for
  /// too long. 0 for the control owner.
  std::uint64_t events_dropped() const { return link_ != nullptr ? link_->events.dropped() : 0; }
  bool is_control_owner() const { return link_ == nullptr; }
  const char* name() const { return link_ != nullptr ? link_->name : "control owner"; }
  /// The number of objects of kind K, without the objects of kinds that stand in for K.
  template <class K>
  std::uint32_t held() const {
    const slab* const objects = slab_of(kind_of<K>);
    return objects != nullptr ? objects->out() : 0;
  }
  device& adapter() const { return *device_; }

  /// The last attribute of an object or a transition that this owner refused with
  /// driver_error::bad_argument. Posts do not record what they refuse.
  refused_attribute& refused() { return refused_; }

  /// find() and destroy() for an object of any kind. destroy_now() reports a null object as stale.
  /// It refuses an object of the device with driver_error::bad_argument, because only an operation
  /// can destroy it.
  object_record* find(handle_bits which, const kind_identity& expected) const;
  status destroy_now(object_record* object);

  // Only the kinds of objects call the functions below. The object records each resource that they
  // take or plan, and release() gives back what the object has recorded.

  /// Takes an object from the slab of its kind. Errors: driver_error::bad_state (the device is not
  /// up), ::unsupported (the budget does not name the kind), ::no_resource.
  result<object_record*> take(const kind& what);
  /// Ok if other objects may refer to the object and operations may work on it. Errors:
  /// driver_error::stale_handle (null), ::busy.
  static status usable(const object_record* object);
  /// Gives a protection domain its number. Error: driver_error::no_resource.
  status take_number(object_record& object);
  /// 0 for the control owner, and from 1 on for event owners. Two owners of a device have different
  /// indexes.
  std::uint32_t owner_index() const { return link_ != nullptr ? link_->context + 1u : 0; }
  /// Takes places for `requests` requests. Plans the ring and the doorbell record (unless
  /// `record_bytes` is 0). The translation entries of the ring depend on its address: allocate().
  status plan_rings(queue_object& object, std::size_t ring_bytes, std::size_t record_bytes,
                    std::size_t requests);
  /// Gives back all resources of the object, and then the object.
  void release(object_record& object);
  /// The doorbell page (UAR) of this owner.
  const uar_page& uar() const { return link_ != nullptr ? link_->uar : device_->uar(); }
  /// The event context that reports the completions of a queue. Null if this owner does not poll
  /// such a context.
  event_context* event_queue(unsigned completion_context) const;
  /// Changes the number of this owner's objects that use a port: see set_port_type.
  void count_port_users(unsigned port, int change) {
    device_->ports_.count_users(port, owner_index(), change);
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
  friend class group_change;
  friend class flow_rule_change;
  friend struct device_object;
  friend class replace_memory_region;
  friend class change_memory_region;

  struct directory_sizes {
    std::uint32_t qps, cqs, srqs;
  };
  static constexpr std::size_t bytes_for(const directory_sizes& sizes, const verbs_budget& b);
  /// The places in each directory of an event owner: at least one for each of its queues.
  static constexpr std::uint32_t directory_places(const verbs_budget& b) {
    std::uint32_t queues = 0, places = 1;
    for (const verbs_budget::entry& e : b.kinds)
      if (e.what != nullptr && e.what->has_rings) queues += e.count;
    while (places < queues) places *= 2;
    return places;
  }
  status open_parts(device& adapter, const directory_sizes& sizes, const verbs_budget& b,
                    std::byte* storage, std::size_t bytes, const verbs_events& events);
  void close_parts();

  // Both call `arrive` on the thread of the owner that they name. For the control owner's own
  // objects they call it at once. They are inline, because then this is no call by pointer.
  [[gnu::always_inline]] void to_control(crossing& what, crossing::arrival arrive) {
    if (link_ == nullptr) return arrive(what);
    send(what, arrive, device_->commands().reactor());
  }
  [[gnu::always_inline]] void to_owner(crossing& what, crossing::arrival arrive) {
    if (link_ == nullptr) return arrive(what);
    send(what, arrive, own_);
  }
  static void send(crossing& what, crossing::arrival arrive, reactor& to);
  /// Asks the control owner to end the step of an operation early.
  void stop(object_operation& op);
  /// Called when an operation is destroyed. After drop() returns, no owner uses the operation.
  void drop(object_operation& op);

  // Called on the control owner's thread.

  /// Allocates what the kind of the object has planned. If the object has a ring, `pages` receives
  /// the pages of the ring. Errors: driver_error::no_resource and ::no_memory (`where` is a
  /// budget::item). free() is then called too.
  status allocate(device_object& object, page_list& pages);
  void free(device_object& object);
  void leave();
  unsigned poll_device();

  // event_owner.cpp: all but leave_context() is called on the thread of an event owner
  unsigned poll_context();
  void drop_crossing(object_operation& op);
  void leave_context();
  void stop_using();
  void release_device();
  void begin_anew();
  event_context& context() const { return device_->completion_context(link_->context); }

  event_sinks sinks();
  /// In a debug build, traps if the calling thread has not entered this owner.
#ifdef NDEBUG
  void expect_entered() const {}
#else
  void expect_entered() const;
#endif
  void settle(device_object& object);
  void resume(object_record& object);

  slab* slab_of(const kind& what);
  const slab* slab_of(const kind& what) const {
    return const_cast<verbs*>(this)->slab_of(what);
  }
  /// Calls f for every object that is not free, in the order of the kinds.
  template <class F>
  void each(F f) const {
    for (unsigned k = 0; k < kinds_; ++k)
      for (std::uint32_t i = 0; i < slabs_[k].made(); ++i)
        if (object_record& object = slabs_[k].at(i); object.state != object_record::phase::free)
          f(object);
  }
  /// Gives back all resources of the object but those that the control owner has to free for
  /// another owner. The object can no longer be used, but its handle is not stale yet.
  void strip(object_record& object);
  void want_back(device_object& object, object_record::phase as);
  void reap();
  void end_requests();
  void notice(object_record* object, const object_event& event);

  /// The reactor of an event owner, and of an owner that is not open. An open control owner uses
  /// the reactor of the device.
  reactor own_;
  reactor* reactor_ = &own_;
  device* device_ = nullptr;
  owner_link* link_ = nullptr;  // of an event owner, in its storage
  verbs_events events_{};
  refused_attribute refused_;
  status failure_;  // the reason of the failure of the device, if it failed
  slab slabs_[verbs_budget::most_kinds];
  unsigned kinds_ = 0;
  queues::qp_directory queue_pairs_;
  number_directory completion_queues_, shared_receive_queues_;
  dma_arena requests_;          // plain memory for the records of posted requests
  list<object_record> polled_;  // the objects of kinds with poll() that are not reclaimable
  list<device_object> reclaimable_;
  object_operation reaper_;
  std::uint32_t operations_ = 0;
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
  return bytes_for({1u << d.log_qps, 1u << d.log_cqs, 1u << d.log_srqs}, b);
}

constexpr std::size_t verbs::event_owner_storage_bytes(const verbs_budget& b) {
  const std::uint32_t places = directory_places(b);
  return bytes_for({places, places, places}, b) + event_relay::storage_bytes() +
         alignof(owner_link) + sizeof(owner_link);
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
