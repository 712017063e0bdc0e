// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <unordered_map>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/srqc.hpp>

#include "basis/adapter.hpp"
#include "queues/work_request.hpp"
#include "saving/fields.hpp"
#include "tables/memory_regions.hpp"

namespace freehca::model {

class command_checks;

enum class take_result : std::uint8_t {
  taken,
  empty,
  fault,  ///< the queue's memory or its doorbell record makes no sense; an event has been posted
};

/// Shared receive queues: SW2HW_SRQ, HW2SW_SRQ, QUERY_SRQ, ARM_SRQ, and the chain of free WQEs that
/// hardware follows. Contexts stand in ICM.
class shared_receive_queues {
 public:
  explicit shared_receive_queues(adapter& a);
  static constexpr std::size_t bytes_each = 512;  ///< that one takes at most

  bool exists(std::uint32_t srqn) const { return table_.count(srqn) != 0; }
  /// The next WQE. Raises the limit event when the queue falls below its watermark.
  take_result take(std::uint32_t srqn, receive_request& to);
  /// XRC: the CQ of the queue's receives, its domain, its protection domain; 0 when there is no
  /// such queue.
  std::uint32_t completion_queue(std::uint32_t srqn) const;
  std::uint32_t protection_domain(std::uint32_t srqn) const;
  std::uint32_t xrc_domain(std::uint32_t srqn) const;
  /// Queue pairs that use the queue: HW2SW_SRQ is refused while there are any.
  void attach(std::uint32_t srqn);
  void detach(std::uint32_t srqn);

  std::uint64_t count() const { return table_.size(); }
  void clear();

 private:
  struct queue {
    layouts::image<layouts::srqc> context;

    // decoded from the context by refresh()
    queue_buffer buffer;
    unsigned log_entries = 0, log_stride = 4;
    data_owner owner;
    std::uint64_t record = 0;

    std::uint16_t head = 0;     ///< index of the next WQE to take
    std::uint16_t counter = 0;  ///< WQEs taken
    std::uint16_t posted = 0;   ///< the doorbell record when last read
    std::uint16_t limit = 0;    ///< 0: not armed
    unsigned users = 0;
    bool broken = false;

    /// Decodes the context's fields into the members above.
    void refresh();

    using saved = saving::fields<&queue::context, &queue::head, &queue::counter, &queue::posted,
                                 &queue::limit, &queue::users, &queue::broken>;
    static constexpr saving::unsaved_member unsaved[] = {{"buffer", "refresh() decodes it"},
                                                         {"log_entries", "refresh() decodes it"},
                                                         {"log_stride", "refresh() decodes it"},
                                                         {"owner", "refresh() decodes it"},
                                                         {"record", "refresh() decodes it"}};
    template <class Archive>
    void transfer_state(Archive& archive) {
      transfer_members(archive, *this);
      if constexpr (Archive::loads) refresh();
    }
    const char* broken_invariant() const {
      return head >> log_entries == 0 ? nullptr : "the next entry is one of the queue";
    }
  };

  layouts::command_status software_to_hardware(command& c);
  layouts::command_status hardware_to_software(command& c);
  layouts::command_status query(command& c);
  layouts::command_status arm(command& c);

  queue* find(std::uint32_t srqn);
  queue* owned(command_checks& is, std::uint32_t srqn);
  bool store(std::uint32_t srqn, queue& q);
  bool read_record(std::uint32_t srqn, queue& q);
  take_result broken(std::uint32_t srqn, queue& q, rule r, const char* why);
  void check_limit(std::uint32_t srqn, queue& q);
  void post_event(std::uint32_t srqn, layouts::event_type type);

  adapter& a_;
  std::unordered_map<std::uint32_t, queue> table_;

 public:
  using saved = saving::fields<&shared_receive_queues::table_>;
  const char* broken_invariant() const;
};

}  // namespace freehca::model
