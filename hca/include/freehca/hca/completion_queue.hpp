// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/cq.hpp>
#include <freehca/queues/cq.hpp>

#include <freehca/hca/handle.hpp>
#include <freehca/hca/object_operation.hpp>

namespace freehca {

struct completion_queue_attributes {
  std::uint32_t entries =
      0;  ///< at least that many completions fit; one more place is the hardware's
  unsigned completion_context = 0;  ///< whose event queue tells of it: device::completion_context()
  void* cookie = nullptr;           ///< comes with its events
};

struct completion_queue : object_record {
  queues::cq rings;
  void* cookie = nullptr;
};

class create_completion_queue : public object_operation {
 public:
  void start(verbs& owner, const completion_queue_attributes& attributes);
  cq_handle queue() const { return queue_; }  ///< once done and ok

 private:
  static void write_translations(object_operation& op) noexcept;
  static void finished(object_operation& op, status outcome) noexcept;
  firmware_command<commands::sw2hw_cq> create_{std::uint32_t{0}};
  cq_handle queue_;
};

/// driver_error::busy while queue pairs complete to it.
class destroy_completion_queue : public object_operation {
 public:
  void start(verbs& owner, cq_handle queue);
};

}  // namespace freehca
