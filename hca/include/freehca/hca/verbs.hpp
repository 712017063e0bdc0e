// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <freehca/hal/deadlines.hpp>
#include <freehca/hal/dma_arena.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/queues/directory.hpp>

#include <freehca/hca/completion_queue.hpp>
#include <freehca/hca/device.hpp>
#include <freehca/hca/memory_region.hpp>
#include <freehca/hca/protection_domain.hpp>
#include <freehca/hca/queue_pair.hpp>
#include <freehca/hca/slab.hpp>

namespace freehca {

/// How many objects there can be at a time. Their numbers and context memory count in the device's
/// budget.
struct verbs_budget {
  std::uint32_t protection_domains = 8;
  std::uint32_t memory_regions = 32;
  std::uint32_t completion_queues = 16;
  std::uint32_t queue_pairs = 16;
  std::uint32_t requests =
      16 * 1024;  ///< places in send and receive queues, of all queue pairs together

  /// What `where` of driver_error::no_resource and ::no_memory means when one of these runs out;
  /// does not overlap with budget::item.
  enum class item : std::uint8_t {
    protection_domains = 0x40,
    memory_regions,
    completion_queues,
    queue_pairs,
    requests,
    storage,
  };
};

/// Who is told of events on objects; any may be null. Called from poll() of the queue that the
/// event came in; request_ended from verbs::poll(), or from device::close().
struct verbs_events {
  void* context = nullptr;
  void (*completion)(void* context, cq_handle queue, void* cookie) noexcept = nullptr;
  void (*cq_error)(void* context, cq_handle queue, void* cookie,
                   layouts::cq_error_syndrome why) noexcept = nullptr;
  void (*qp)(void* context, qp_handle queue, void* cookie,
             layouts::event_type type) noexcept = nullptr;
  void (*port)(void* context, unsigned port) noexcept = nullptr;
  void (*device_failed)(void* context, status why) noexcept = nullptr;
  /// A work request whose completion nobody polled before the device was reset, or kept from
  /// memory: the buffers that it names are the caller's again. Once for each; handles are still
  /// good, posting is over, operations end by the reset. First what stands in the completion
  /// queues, as poll() would have given it, with `why` ok; then, of each queue pair, the sends and
  /// the receives that are left, in the order of their posting and whether signaled or not, with
  /// completion_status::device_reset. `why` is then what device_failed was told, or
  /// transport_error::reset for a device that worked.
  void (*request_ended)(void* context, qp_handle queue, void* cookie,
                        const queues::work_completion& how, status why) noexcept = nullptr;
};

/// What is there; all zero after everything was destroyed.
struct verbs_holdings {
  std::uint32_t protection_domains = 0, memory_regions = 0, completion_queues = 0, queue_pairs = 0;
  std::uint32_t in_doubt = 0;  ///< of these
  std::size_t request_bytes = 0;
  bool none() const {
    return protection_domains + memory_regions + completion_queues + queue_pairs == 0 &&
           request_bytes == 0;
  }
};

/// The objects of one device: protection domains, memory regions, completion queues, queue pairs.
/// They are made and changed by operations, which the caller owns and start() begins, and used
/// through the rings that send_queue(), receive_queue() and queue() give. One owner thread, the
/// device's.
class verbs {
 public:
  /// Storage for a device made from `d`, aligned to 16.
  static constexpr std::size_t storage_bytes(const budget& d, const verbs_budget& b);

  verbs() = default;
  verbs(const verbs&) = delete;
  verbs& operator=(const verbs&) = delete;
  /// close() has succeeded, or there is no operation under way. Objects that are still there stay
  /// the adapter's until the device is torn down or reset: their memory must outlive that.
  ~verbs();

  /// The device is up and was opened with `d`; takes over its event sinks. driver_error::bad_state
  /// (not up), ::no_memory (verbs_budget::item::storage), ::bad_argument (::requests: no room for a
  /// single one). After an error nothing is kept of `storage`.
  status open(device& on, const budget& d, const verbs_budget& b, std::byte* storage,
              std::size_t storage_bytes, const verbs_events& events = {});
  /// driver_error::busy: there are objects, or operations under way.
  status close();
  bool is_open() const { return device_ != nullptr; }

  /// Polls the device and completes what ended. Instead of device::poll(). Completion contexts are
  /// polled too.
  unsigned poll();
  /// When poll() is due at the latest if no interrupt comes; 0: at once. Completion queues are the
  /// caller's to poll.
  std::uint64_t next_deadline() const;

  /// The device was reset, or can no longer reach memory: requests end, all objects are gone,
  /// handles are stale, nothing is held. Operations under way end by the reset by themselves. The
  /// device calls it (event_sinks::forgotten).
  void forget();

  /// driver_error::no_resource.
  result<pd_handle> create_protection_domain();
  /// driver_error::busy while regions or queue pairs are in it, ::stale_handle.
  status destroy(pd_handle domain);

  /// The hot half of an object; null for a stale handle. Good until the object is destroyed.
  queues::cq* queue(cq_handle h) const;
  queues::sq* send_queue(qp_handle h) const;
  queues::rq* receive_queue(qp_handle h) const;
  /// 0 for a stale handle.
  std::uint32_t qpn(qp_handle h) const;
  std::uint32_t key(mr_handle h) const;
  /// As the driver knows it: transitions, and error events that were polled.
  layouts::qp_state state(qp_handle h) const;

  verbs_holdings holdings() const;
  device& on() const { return *device_; }

 private:
  friend class object_operation;
  friend class create_memory_region;
  friend class destroy_memory_region;
  friend class create_completion_queue;
  friend class destroy_completion_queue;
  friend class create_queue_pair;
  friend class modify_queue_pair;
  friend class query_queue_pair;
  friend class destroy_queue_pair;
  friend struct queue_pair_builder;
  friend struct object_record;

  enum class use : std::uint8_t { destroy, change };
  /// stale_handle for null; busy with users (to destroy), while an operation works on it or in
  /// doubt.
  static status check_usable(const object_record* object, use what = use::destroy);
  status set_up(completion_queue& cq, unsigned log_entries);
  void strip(memory_region& region);
  void strip(completion_queue& cq);
  void strip(queue_pair& pair);
  status take_translations(object_record& object, std::size_t pages);
  status take_number(object_record& object, context_group group);
  /// Gives back everything that the record names; it is of no use any more, but its handle is not
  /// stale yet.
  void strip(object_record& object);
  /// Gives back everything that the record names, and the record.
  void release(object_record& object);
  void write_translations(const object_record& object, const page_list& pages);
  void want_back(object_record& object);
  void close_slabs();
  void reap();
  template <class Objects>
  void forget_all(Objects& objects);
  void end_requests();
  void hand_over_completions();
  void tell_ended(const queue_pair& pair, const queues::work_completion& how, status why);

  void connect_events();
  void disconnect_events();
  static void on_completion(void* self, std::uint32_t cqn) noexcept;
  static void on_cq_error(void* self, std::uint32_t cqn, layouts::cq_error_syndrome why) noexcept;
  static void on_qp(void* self, std::uint32_t qpn, layouts::event_type type) noexcept;
  static void on_port(void* self, unsigned port) noexcept;
  static void on_device_failed(void* self, status why) noexcept;
  static void on_reset(void* self) noexcept;
  static void on_forgotten(void* self) noexcept;
  completion_queue* find_cq(std::uint32_t cqn) const;

  device* device_ = nullptr;
  verbs_events events_;
  status failure_;  // what the device died of, if it did
  slab<protection_domain, pd_handle> domains_;
  slab<memory_region, mr_handle> regions_;
  slab<completion_queue, cq_handle> completion_queues_;
  slab<queue_pair, qp_handle> queue_pairs_;
  queues::qp_directory directory_;
  completion_queue** cq_by_number_ = nullptr;
  std::uint32_t cq_mask_ = 0;
  dma_arena requests_;       // plain memory, divided
  list<operation> ended_;    // refused before they began
  list<operation> limited_;  // under way, with a deadline
  deadlines deadlines_;      // of those
  list<object_record> unwanted_;
  object_operation reaper_;
  std::uint32_t operations_ = 0;
};

namespace detail {
constexpr std::size_t up_to_16(std::size_t n) {
  return (n + 15) / 16 * 16;
}
inline constexpr std::size_t request_unit = 64;
}  // namespace detail

constexpr std::size_t verbs::storage_bytes(const budget& d, const verbs_budget& b) {
  using detail::up_to_16;
  const std::size_t requests =
      up_to_16(std::size_t{b.requests} * sizeof(queues::posted_request)) + detail::request_unit;
  return up_to_16(b.protection_domains * sizeof(protection_domain)) +
         up_to_16(b.memory_regions * sizeof(memory_region)) +
         up_to_16(b.completion_queues * sizeof(completion_queue)) +
         up_to_16(b.queue_pairs * sizeof(queue_pair)) +
         up_to_16((std::size_t{1} << d.log_qps) * sizeof(void*)) +
         up_to_16((std::size_t{1} << d.log_cqs) * sizeof(void*)) + up_to_16(requests) +
         up_to_16(dma_arena::storage_bytes_for(requests, detail::request_unit));
}

}  // namespace freehca
