// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The operations of an adapter, one class each. A program need not name these classes, because the
// functions of `adapter` construct and start them. A program that keeps an operation for longer
// starts it with start(), and again after restart().
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/queues/work_completion.hpp>

#include <freehca/easy/sequence.hpp>
#include <freehca/easy/values.hpp>
#include <freehca/hca/objects/creation.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca::easy {

/// Gives back the resources of a place: queue pair, completion queue, region, memory. A resource
/// that the device refuses to give back stays in the place.
class taking_back : public sequence {
 public:
  taking_back() = default;
  ~taking_back() { drop(); }
  void start(adapter& hca, place& what);

 protected:
  /// Like start(), for a place that the user names. Errors: driver_error::stale_handle, ::busy (an
  /// operation works on the place).
  void start_of(adapter& hca, place* what, std::uint32_t serial);

 private:
  /// Destroys an object of any kind.
  class destroying : public object_operation {
   public:
    void start(verbs& in, device_object& which) { start_destruction(in, &which); }
  };
  static void advance(stepper& self, status outcome) noexcept;
  /// Returns the object of the place that is destroyed next, or null if no object is left.
  device_object* next() const;
  bool go_on();

  destroying destroy_;
};

/// A sequence that makes the resources of its place.
class making : public sequence {
 protected:
  /// Takes back the resources of the place, and then ends the sequence with `why`. If the sequence
  /// is being destroyed, it ends at once, and the adapter takes them back.
  void undo(status why);
  /// Called when a part has ended. Ends the sequence if undo() was called, and returns true then.
  bool undone(status outcome);

 private:
  taking_back take_back_;
};

class bringing_up : public sequence {
 public:
  bringing_up() = default;
  ~bringing_up() { drop(); }
  explicit bringing_up(adapter& hca) { start(hca); }
  void start(adapter& hca);

 private:
  static void advance(stepper& self, status outcome) noexcept;
  void undo(status why);

  operation step_;
};

class tearing_down : public sequence {
 public:
  tearing_down() = default;
  ~tearing_down() { drop(); }
  explicit tearing_down(adapter& hca) { start(hca); }
  void start(adapter& hca);

 private:
  friend class adapter;
  enum class stage : std::uint8_t {
    in_order,  ///< the places are taken back one after the other
    objects,   ///< the verbs objects are closed, and the device goes down
    end,       ///< the device is down; operations that its reset ended may not be completed yet
  };
  static void advance(stepper& self, status outcome) noexcept;
  void go_on();
  void enter(stage next);
  /// This operation is being destroyed. The adapter's own `closer_` continues the teardown.
  void hand_over();
  bool waits_for_device() const;
  /// Called at the end of the adapter's poll(). Returns true if the teardown has ended.
  bool go_down();
  bool end();

  operation down_;
  taking_back take_back_;
  status outcome_;
  stage stage_ = stage::in_order;
};

class allocating : public bringing<memory, making> {
 public:
  allocating() = default;
  ~allocating() { drop(); }
  allocating(adapter& hca, std::size_t bytes, rights allowed) { start(hca, bytes, allowed); }
  allocating(adapter& hca, const program_memory& own, rights allowed, bool read_only) {
    start(hca, own, allowed, read_only);
  }
  void start(adapter& hca, std::size_t bytes, rights allowed = rights::local);
  /// For adapter::register_memory(). If `read_only` is true, the device only reads the memory.
  void start(adapter& hca, const program_memory& own, rights allowed = rights::local,
             bool read_only = false);

 private:
  class registering : public create_memory_region {
   public:
    /// Returns the region if its registration was not answered, or if the region is still to be
    /// taken back. As long as the region exists, the device may use its memory. Otherwise returns
    /// the default handle.
    mr_handle in_doubt(status outcome) const;
  };
  static void advance(stepper& self, status outcome) noexcept;
  void begin_with(adapter& hca, const program_memory& own, rights allowed, bool read_only);

  registering create_;
};

class releasing : public taking_back {
 public:
  releasing() = default;
  releasing(adapter& hca, const memory& what) { start(hca, what); }
  void start(adapter& hca, const memory& what) { start_of(hca, what.where, what.serial); }
};

class opening : public bringing<connection, making> {
 public:
  opening() = default;
  ~opening() { drop(); }
  opening(adapter& hca, layouts::qp_service service, const connection_options& options) {
    start(hca, service, options);
  }
  void start(adapter& hca, layouts::qp_service service, const connection_options& options);

 private:
  static void advance(stepper& self, status outcome) noexcept;
  void make_pair();
  void read_partition();
  void move(layouts::qp_state to);
  void succeed();

  connection_options how_;
  layouts::qp_service service_{};
  layouts::qp_state to_{};
  peer self_;
  create_completion_queue create_completions_;
  create_queue_pair create_pair_;
  pkey_query pkeys_;
  modify_queue_pair modify_;
};

class connecting : public sequence {
 public:
  connecting() = default;
  ~connecting() { drop(); }
  connecting(adapter& hca, const connection& what, const peer& to) { start(hca, what, to); }
  void start(adapter& hca, const connection& what, const peer& to);

 private:
  static void advance(stepper& self, status outcome) noexcept;
  void move(layouts::qp_state to);
  void undo(status why);

  peer self_, peer_;
  layouts::qp_state to_{};
  modify_queue_pair modify_;
};

class closing : public taking_back {
 public:
  closing() = default;
  closing(adapter& hca, const connection& what) { start(hca, what); }
  void start(adapter& hca, const connection& what) { start_of(hca, what.where, what.serial); }
};

class next_completion : public bringing<queues::work_completion> {
 public:
  next_completion() = default;
  ~next_completion() { drop(); }
  next_completion(adapter& hca, const connection& of) { start(hca, of); }
  void start(adapter& hca, const connection& of);

 private:
  friend class adapter;
  static void on_cancel(operation& op, void* self) noexcept;
};

}  // namespace freehca::easy
