// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A machine with a modelled adapter, our driver on it, and its verbs objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include <freehca/hca/every_kind.hpp>
#include <freehca/in_process/machine.hpp>

#include "budgets.hpp"

#include "words.hpp"

namespace freehca::testing {

/// Storage aligned as the driver wants it.
class storage {
 public:
  explicit storage(std::size_t bytes)
      : bytes_(bytes), at_(new (std::align_val_t{16}) std::byte[bytes]) {}
  std::byte* at() { return at_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct release {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{16}); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte[], release> at_;
};

struct rig_options {
  in_process::machine_options machine;
  freehca::budget budget;
  verbs_budget objects = every_kind();
  verbs_events events;
  bool interrupts = true;
  bool by_rules = false;  ///< device-managed steering
  bool rules_are_required = true;
};

inline rig_options exact() {
  rig_options how;
  how.budget = without_spares();
  return how;
}

class verbs_rig {
 public:
  explicit verbs_rig(const rig_options& how = {})
      : machine(how.machine),
        budget_(how.budget),
        events_(how.events),
        device_storage_(device::storage_bytes(how.budget)),
        verbs_storage_(verbs::storage_bytes(how.budget, how.objects)) {
    bring_up(how);
  }
  ~verbs_rig() {
    EXPECT_TRUE(objects.close().ok()) << "something is left";
    if (adapter.state() == device_state::closed) return;
    operation down;
    adapter.tear_down(down);
    EXPECT_TRUE(run([&] { return down.done(); }));
    EXPECT_TRUE(adapter.holdings().none());
    adapter.close();
  }

  /// Runs driver and adapter until `done` or the limit of virtual time.
  bool run(const std::function<bool()>& done, std::uint64_t limit_ns = 300'000'000'000) {
    return machine.run(
        done,
        [this] {
          if (objects.is_open()) {
            // An event, and the looks behind it until the event queue is armed again: the clock
            // does not move between them, or deadlines pass unseen.
            objects.poll_all(5);
            return objects.next_deadline();
          }
          adapter.poll();
          return adapter.next_deadline();
        },
        limit_ns);
  }
  /// The outcome of an operation that was started.
  status await(operation& op) {
    EXPECT_TRUE(run([&] { return op.done(); })) << "no completion";
    return op.done() ? op.outcome() : status(transport_error::timeout);
  }

  /// After a teardown and a new bring-up.
  status reopen(const verbs_budget& b = every_kind()) {
    return objects.open(adapter, b, verbs_storage_.at(), verbs_storage_.bytes(), events_);
  }

  in_process::machine machine;
  device adapter;
  verbs objects;

 private:
  void bring_up(const rig_options& how) {
    device_setup setup{.platform = machine.platform(),
                       .budget = how.budget,
                       .storage = device_storage_.at(),
                       .storage_bytes = device_storage_.bytes(),
                       .use_interrupts = how.interrupts};
    if (how.by_rules) steer_by_rules(setup, how.rules_are_required);
    ASSERT_TRUE(adapter.open(setup).ok());
    operation up;
    adapter.bring_up(up);
    ASSERT_TRUE(run([&] { return up.done(); }));
    ASSERT_TRUE(up.outcome().ok())
        << name_of(adapter.failure().step) << ": " << words(adapter.failure().cause);
    ASSERT_TRUE(
        objects.open(adapter, how.objects, verbs_storage_.at(), verbs_storage_.bytes(), how.events)
            .ok());
  }

  freehca::budget budget_;
  verbs_events events_;
  storage device_storage_, verbs_storage_;
};

/// A buffer in shuffled pages, registered from an offset inside the first page on, with guard bytes
/// around.
template <class Rig>
class registered_buffer_of {
 public:
  registered_buffer_of(Rig& rig, pd_handle domain, std::size_t bytes, std::uint32_t offset,
                       const memory_access& access)
      : rig_(rig),
        bytes_(bytes),
        offset_(offset),
        pages_(rig.machine.memory().allocate_scattered((offset + bytes + 4095) / 4096 + 1)) {
    create_memory_region create;
    create.start(rig.objects, {.pd = domain,
                               .pages = page_list(pages_.addresses.data(), 12, offset, bytes),
                               .virtual_address = address(),
                               .access = access});
    const status s = rig.await(create);
    EXPECT_TRUE(s.ok()) << words(s);
    region = create.made();
    key = key_of(rig.objects, region);
    fill(std::byte{0xa5});
  }
  ~registered_buffer_of() {
    if (region) {
      destroy_memory_region destroy;
      destroy.start(rig_.objects, region);
      EXPECT_TRUE(rig_.await(destroy).ok());
    }
    rig_.machine.memory().release(pages_);
  }
  registered_buffer_of(const registered_buffer_of&) = delete;
  registered_buffer_of& operator=(const registered_buffer_of&) = delete;

  std::byte* at(std::size_t i) { return pages_.memory + offset_ + i; }
  std::uint64_t address(std::size_t i = 0) const { return 0x7000'0000'0000 + offset_ + i; }
  queues::data_entry entry(std::size_t from, std::size_t length) const {
    return {address(from), static_cast<std::uint32_t>(length), key};
  }
  void fill(std::byte value) {
    for (std::size_t i = 0; i < pages_.addresses.size() * 4096; ++i) pages_.memory[i] = value;
  }
  /// Every byte outside [from, from + length) is `value`.
  bool untouched_but(std::size_t from, std::size_t length, std::byte value) {
    const std::size_t first = offset_ + from, end = first + length;
    for (std::size_t i = 0; i < pages_.addresses.size() * 4096; ++i)
      if ((i < first || i >= end) && pages_.memory[i] != value) return false;
    return true;
  }
  std::size_t bytes() const { return bytes_; }

  mr_handle region;
  std::uint32_t key = 0;

 private:
  Rig& rig_;
  std::size_t bytes_;
  std::uint32_t offset_;
  in_process::host_memory_map::scattered_pages pages_;
};

using registered_buffer = registered_buffer_of<verbs_rig>;

}  // namespace freehca::testing
