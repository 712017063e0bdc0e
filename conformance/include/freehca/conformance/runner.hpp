// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/device.hpp>
#include <freehca/hca/kinds/address_handle.hpp>
#include <freehca/hca/kinds/completion_queue.hpp>
#include <freehca/hca/kinds/memory_region.hpp>
#include <freehca/hca/kinds/protection_domain.hpp>
#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/hca/kinds/shared_receive_queue.hpp>
#include <freehca/hca/objects/verbs.hpp>

#include <freehca/conformance/list.hpp>

namespace freehca::conformance {

/// What the adapter told of objects since it was last asked. verbs::open() is given events(), which
/// has to outlive the verbs.
class heard_events {
 public:
  heard_events() = default;
  heard_events(const heard_events&) = delete;
  heard_events& operator=(const heard_events&) = delete;

  verbs_events events();
  void forget() { count_ = 0; }
  bool heard(qp_handle queue, layouts::event_type type) const;
  bool heard(srq_handle queue, layouts::event_type type) const;

 private:
  struct entry {
    std::uint32_t index, generation;
    bool shared;
    layouts::event_type type;
  };
  static constexpr unsigned most = 16;
  void add(const entry& e) {
    if (count_ < most) entries_[count_++] = e;
  }
  bool has(const entry& e) const;

  entry entries_[most] = {};
  unsigned count_ = 0;
};

/// What the list makes at a time, of each kind.
constexpr verbs_budget objects_needed() {
  verbs_budget b = verbs_budget{}
                       .with<protection_domain>(2)
                       .with<memory_region>(2)
                       .with<address_handle>(1)
                       .with<completion_queue>(2)
                       .with<shared_receive_queue>(1)
                       .with<queue_pair>(2);
  b.requests = 256;
  return b;
}

/// Where the list is run. The device is up, and nobody else makes objects of it meanwhile.
struct surroundings {
  device& adapter;
  verbs& objects;
  heard_events& events;
  unsigned port = 1;  ///< InfiniBand, and active
  /// Lets the adapter work: polls `objects`, and may sleep until something can have changed.
  void (*turn)(void* context) = nullptr;
  void* context = nullptr;
  /// Null, or whether the run is to end early.
  bool (*interrupted)(void* context) = nullptr;
};

enum class verdict : std::uint8_t { as_expected, differs, not_applicable };

/// What is told of a row when it was run.
struct row_report {
  const row_group& group;
  const conformance::row& row;
  verdict how;
  answer got;                            ///< but with verdict::not_applicable
  const char* not_applicable = nullptr;  ///< why
};

/// Buffers and doorbell records that hardware may have still when a run has ended early: the rows'
/// own, and no object's.
class left_memory {
 public:
  void add_buffer(const dma_region& r) { add(buffers_, r); }
  void add_record(const dma_region& r) { add(records_, r); }
  /// Gives it back to the device. Only behind a teardown, which resets it, and before
  /// device::close(), with which the memory ends anyway.
  void give_back(device& of);

 private:
  static constexpr unsigned most = 8;  // one of each kind of object, and two sides' memory
  struct list {
    dma_region regions[most];
    unsigned count = 0;
  };
  static void add(list& to, const dma_region& r) {
    if (r.host != nullptr && to.count < most) to.regions[to.count++] = r;
  }
  static void give_back(list& all, dma_arena& to);

  list buffers_, records_;
};

struct summary {
  unsigned as_expected = 0, differ = 0, not_applicable = 0;
  /// ok: every row was run. Else the adapter, or who interrupts, ended it, in the row that was told
  /// last or behind it.
  status ended;
  /// With `ended`: the adapter did not give back what the row told last had made, by that status.
  bool left_behind = false;
  left_memory left;  ///< with `ended`
  unsigned rows() const { return as_expected + differ + not_applicable; }
  bool all_well() const { return ended.ok() && differ == 0; }
};

/// Who is told of each row.
using listener = void (*)(void* context, const row_report& report);

/// Runs all rows. Nothing is left of it, unless it was ended early by the adapter: then nothing is
/// asked of that any more, and numbers, buffers and context memory stay out, since hardware may
/// have them still. A teardown of the device, which resets it, takes back what there is, but for
/// the memory that the summary has.
summary run_all(const surroundings& where, listener tell, void* context);

/// "group/name: as expected (bad index)", as it is printed and compared.
text_writer& operator<<(text_writer& to, const row_report& report);

}  // namespace freehca::conformance
