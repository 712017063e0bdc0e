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
#include <freehca/hca/port_addresses.hpp>
#include <freehca/hca/port_operation.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca::easy {

class bringing_up : public facade_operation<bringing_up, sequence> {
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

/// Waits for the teardown, which the adapter itself carries out.
class tearing_down : public facade_operation<tearing_down, sequence> {
 public:
  tearing_down() = default;
  ~tearing_down() { drop(); }
  explicit tearing_down(adapter& hca) { start(hca); }
  void start(adapter& hca);

 private:
  static void on_cancel(operation& op, void* owner) noexcept;
};

/// An operation of one object.
template <class Operation>
class object_sequence : public Operation {
 protected:
  freehca::reactor& reactor() const { return this->owner().adapter().commands().reactor(); }
};

class allocating
    : public facade_operation<allocating, object_sequence<create_object<memory_object>>> {
 public:
  allocating() = default;
  ~allocating() { drop(); }
  allocating(adapter& hca, std::size_t bytes, rights allowed) { start(hca, bytes, allowed); }
  allocating(adapter& hca, const program_memory& own, rights allowed, bool read_only) {
    start(hca, own, allowed, read_only);
  }
  void start(adapter& hca, std::size_t bytes, rights allowed = rights::local) {
    begin_with(hca, {.first = nullptr, .bytes = bytes}, allowed, false);
  }
  /// For adapter::register_memory(). If `read_only` is true, the device only reads the memory. A
  /// null pointer is refused as memory of no bytes.
  void start(adapter& hca, const program_memory& own, rights allowed = rights::local,
             bool read_only = false) {
    begin_with(hca, own.first != nullptr ? own : program_memory{}, allowed, read_only);
  }
  /// The memory, or the reason of the failure. Valid once done(), and until the memory is released.
  result<memory> value() const;

 private:
  void begin_with(adapter& hca, const program_memory& own, rights allowed, bool read_only);
};

class releasing : public facade_operation<releasing, object_sequence<object_operation>> {
 public:
  releasing() = default;
  releasing(adapter& hca, const memory& what) { start(hca, what); }
  void start(adapter& hca, const memory& what);
};

/// Destroys the queue pair and then the completion queue of a connection. If the device refuses to
/// destroy one of them, the connection keeps it.
class closing : public facade_operation<closing, sequence> {
 public:
  closing() = default;
  ~closing() { drop(); }
  closing(adapter& hca, const connection& what) { start(hca, what); }
  void start(adapter& hca, const connection& what);
  /// For the adapter.
  void start(adapter& hca, connection_object& what);

 private:
  /// Destroys an object of any kind.
  class destroying : public object_operation {
   public:
    void start(verbs& in, device_object& which) { start_destruction(in, &which); }
  };
  static void advance(stepper& self, status outcome) noexcept;
  void go_on(connection_object& what);

  destroying destroy_;
};

/// A sequence that moves the queue pair of its connection from state to state.
class moving : public sequence {
 protected:
  void move(layouts::qp_state to);

  qp_handle pair_handle{};
  connection_attributes settings;
  layouts::qp_state target{};
  modify_queue_pair modification;
};

/// Writes the tables of an Ethernet port, then opens the port.
class opening_port : public facade_operation<opening_port, sequence> {
 public:
  opening_port() = default;
  ~opening_port() { drop(); }
  opening_port(adapter& hca, unsigned port, const ethernet_options& options) {
    start(hca, port, options);
  }
  void start(adapter& hca, unsigned port, const ethernet_options& options);

 private:
  static void advance(stepper& self, status outcome) noexcept;

  unsigned port_ = 0, count_ = 0;
  bool written_ = false;  // the tables
  std::uint64_t mac_ = 0;
  port_gid gids_[2 * ethernet_options::most_addresses];  // each address by RoCE v1, then by v2
  set_port_addresses tables_;
  port_operation open_;
};

class opening : public bringing<opening, connection, moving> {
 public:
  opening() = default;
  ~opening() { drop(); }
  opening(adapter& hca, layouts::qp_service service, const connection_options& options) {
    start(hca, service, options);
  }
  void start(adapter& hca, layouts::qp_service service, const connection_options& options);

 private:
  friend class opening_port;
  static void advance(stepper& self, status outcome) noexcept;
  /// Starts the next part, or ends the sequence. Error: that of describe().
  status go_on(connection_object& of);
  /// Sets what a peer on InfiniBand needs. Error: driver_error::bad_argument (no P_Key).
  status describe();
  /// The same on Ethernet. Errors: those of adapter::open_rc().
  static status describe_ethernet(adapter& hca, opening& to);
  /// Closes the connection, and then ends the sequence with `why`. If the sequence is being
  /// destroyed, it ends at once, and the adapter closes the connection.
  void undo(status why);

  connection_options how_;
  layouts::qp_service service_{};
  unsigned made_ = 0;  // the number of parts that have succeeded
  address_attributes route_{};
  create_object<connection_object> create_completions_;
  create_queue_pair create_pair_;
  pkey_query pkeys_;
  closing close_;
};

class connecting : public facade_operation<connecting, moving> {
 public:
  connecting() = default;
  ~connecting() { drop(); }
  connecting(adapter& hca, const connection& what, const peer& to) { start(hca, what, to); }
  void start(adapter& hca, const connection& what, const peer& to);

 private:
  static void advance(stepper& self, status outcome) noexcept;
  void undo(status why);
};

class next_completion : public bringing<next_completion, queues::work_completion, sequence> {
 public:
  next_completion() = default;
  ~next_completion() { drop(); }
  next_completion(adapter& hca, const connection& of) { start(hca, of); }
  void start(adapter& hca, const connection& of);

 private:
  friend struct connection_object;
  static void on_cancel(operation& op, void* owner) noexcept;
  void take(const queues::work_completion& w) {
    result_value = w;
    complete({});
  }
};

}  // namespace freehca::easy
