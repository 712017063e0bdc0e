// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/hca/device.hpp>
#include <freehca/hca/objects/verbs.hpp>

#include <freehca/easy/operations.hpp>

namespace freehca::easy {

/// The kinds of objects that an adapter makes, and their numbers. A program that creates objects of
/// its own adds to them with with<K>().
constexpr verbs_budget usual_kinds() {
  return verbs_budget{}
      .with<protection_domain>(1)
      .with<memory_region>(32)
      .with<completion_queue>(16)
      .with<queue_pair>(16);
}

/// The size of an adapter. The memory of allocate() counts in budget::queue_bytes, in whole pages.
/// The facade has as many memory regions and completion queues of its own as `objects` has.
struct sizes {
  freehca::budget budget;
  verbs_budget objects = usual_kinds();
};

/// The resources of an adapter. The platform and the storage outlive the adapter.
struct setup {
  freehca::platform platform;
  sizes size;
  std::byte* storage = nullptr;  ///< adapter::storage_bytes(size), aligned to 16
  std::size_t storage_bytes = 0;
  bool take_over = false;                       ///< device_setup::take_over
  std::uint64_t port_wait = default_port_wait;  ///< device_setup::port_wait
  std::uint64_t link_wait = default_link_wait;  ///< device_setup::link_wait
  /// device_setup::wake: event owners wake the thread that polls the adapter.
  inbox::waker wake = nullptr;
  void* wake_context = nullptr;
  entry_check entry{};  ///< device_setup::entry
  /// Receives all events for which no connection of this adapter waits.
  verbs_events events;
};

/// The facade of an adapter: a device, its verbs objects, and operations that make memory and
/// connections in one step each. No call waits. Each function below starts an operation and returns
/// it in place:
///
///   auto opened = hca.open_rc();   // then(), co_await, or poll() until opened.done()
///
/// The operations end as object_operation describes. Further errors: driver_error::bad_state (the
/// adapter is not up), ::stale_handle, ::busy (another operation works on the same memory or
/// connection), ::no_resource (the budget has no more regions, completion queues or queue pairs).
/// The caller has entered the control owner.
class adapter {
 public:
  /// The size of `setup::storage` in bytes.
  static constexpr std::size_t storage_bytes(const sizes& size) {
    return device::storage_bytes(size.budget) +
           verbs::storage_bytes(size.budget, all_kinds(size.objects));
  }

  adapter() = default;
  adapter(const adapter&) = delete;
  adapter& operator=(const adapter&) = delete;
  /// Precondition: no operation is under way. If the device is not down: see device::close().
  ~adapter() { device_.close(); }

  /// Like device::open().
  status open(const setup& given);

  /// Brings up the device, its verbs objects and a protection domain. Outcomes: those of
  /// device::bring_up() and verbs::open().
  bringing_up bring_up() { return bringing_up(*this); }
  /// Brings the adapter down. First closes the connections, then releases the memories, one after
  /// the other, each in the reverse order of their making. A reset ends those that cannot be closed
  /// or released. Memory comes last, because a request of any connection may still name it.
  /// cancel() and the deadline end only this orderly part. Outcomes: those of device::tear_down().
  tearing_down tear_down() { return tearing_down(*this); }

  /// Allocates memory of the device's arena, zeroes it and registers it as a region. The memory
  /// exists until release() or tear_down().
  allocating allocate(std::size_t bytes, rights allowed = rights::local) {
    return {*this, bytes, allowed};
  }
  /// Registers memory of the program, of any alignment: a pointer and a length, or a contiguous
  /// range such as std::span, std::vector or std::string. The memory must exist until release() or
  /// tear_down(). Memory may be registered more than once. The device can only read a range of
  /// constants. Further errors: those of the platform's map_memory(), and driver_error::unsupported
  /// (the platform has no map_memory()).
  allocating register_memory(std::byte* first, std::size_t bytes, rights allowed = rights::local) {
    return {*this, {.first = first, .bytes = bytes}, allowed, false};
  }
  template <class Range>
  requires requires(Range& r) { r.data() + r.size(); }
  allocating register_memory(Range&& range, rights allowed = rights::local) {
    using element = std::remove_pointer_t<decltype(range.data())>;
    static_assert(std::is_trivially_copyable_v<element>);
    const program_memory own{
        reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<element>*>(range.data())),
        range.size() * sizeof(element)};
    return {*this, own, allowed, std::is_const_v<element>};
  }
  /// Releases memory. No request may name the memory any more. If the device refuses, the memory
  /// stays as it was.
  releasing release(const memory& what) { return {*this, what}; }

  /// Gives an Ethernet port its addresses and opens it. bring_up() opens InfiniBand ports only. On
  /// an open port only the addresses change. Those that connections use must keep their places. The
  /// outcomes are those of set_port_addresses and port_operation, and driver_error::bad_argument
  /// (more than ethernet_options::most_addresses).
  opening_port open_ethernet(unsigned port = 1, const ethernet_options& options = {}) {
    return {*this, port, options};
  }

  /// Opens a reliable connection, which waits for connect(). Receives may be posted to it. Further
  /// errors: driver_error::bad_state (the port is not active, or the Ethernet port is not open),
  /// ::bad_argument (the P_Key table has no P_Key at the index, or the Ethernet port does not have
  /// the address or the priority), ::unsupported (open_ethernet() was never called, or the device
  /// does not have the version of RoCE). A VLAN that the port does not have is refused by connect()
  /// and address_of().
  opening open_rc(const connection_options& options = {}) {
    return {*this, layouts::qp_service::rc, options};
  }
  /// Opens a queue pair for datagrams, which can send at once. A post names a peer by address_of().
  /// The post must have the Q_Key that is the `qkey` in the options of the peer.
  opening open_ud(const connection_options& options = {}) {
    return {*this, layouts::qp_service::ud, options};
  }
  /// Connects to the peer. Packets are as large as both sides take. On InfiniBand they have a GRH
  /// if the GID of the peer is of another subnet. Further error: driver_error::bad_argument (see
  /// check_peers()). If the connection was connected before, or has failed, it begins again and
  /// its receives are dropped. If connect() fails, it leaves the connection in the state after
  /// open_rc(), except for a transition that was not answered.
  connecting connect(const connection& what, const peer& to) { return {*this, what, to}; }
  /// Closes a connection. Outstanding requests are dropped. Operations that wait for their
  /// completions end with driver_error::stale_handle.
  closing close(const connection& what) { return {*this, what}; }

  /// Waits for the next completion of a send or a receive, in the order of their arrival. Any
  /// number of operations may wait. They receive completions in the order in which they were
  /// started.
  next_completion next(const connection& of) { return {*this, of}; }

  /// Returns the address of a peer for the datagrams of a connection. Errors:
  /// driver_error::stale_handle, ::bad_argument.
  result<queues::address> address_of(const connection& from, const peer& to);

  /// Completes the operations that have ended. Called instead of device::poll() and verbs::poll().
  /// Returns the number of items that were handled.
  unsigned poll();
  /// The latest time of the next poll() if no interrupt comes, on the platform's clock. 0 means at
  /// once.
  std::uint64_t next_deadline() const;

  bool up() const { return verbs_.up() && stage_ == stage::none; }
  /// The device and its verbs objects, for all operations that have no function here. The sequences
  /// of the device must be started through the adapter only.
  device& hardware() { return device_; }
  verbs& objects() { return verbs_; }
  pd_handle domain() const { return domain_; }
  /// The number of memories and connections that exist, or could not be taken back yet.
  std::uint32_t places_taken() const {
    return verbs_.held<memory_object>() + verbs_.held<connection_object>();
  }

 private:
  friend class sequence;
  friend class bringing_up;
  friend class tearing_down;
  friend class allocating;
  friend class opening;
  friend class opening_port;
  friend class next_completion;
  /// The stages of a teardown. In `objects`, connections and memories are taken back if the
  /// teardown is orderly. In `device`, the device goes down.
  enum class stage : std::uint8_t { none, objects, device };

  /// The kinds of the program and those of the facade. The facade's kinds stand in for kinds of the
  /// program, and have their items: an error names the kind of the budget that ran out.
  static constexpr verbs_budget all_kinds(verbs_budget b) {
    verbs_budget::entry* own = b.kinds;
    while (own->what != nullptr) ++own;
    FREEHCA_ASSERT(own + 2 <= b.kinds + verbs_budget::most_kinds);
    own[0] = {&kind_of<memory_object>, b.count<memory_region>()};
    own[1] = {&kind_of<connection_object>, b.count<completion_queue>()};
    return b;
  }

  freehca::reactor& reactor() { return device_.commands().reactor(); }
  /// Returns null if the connection is closed, or if another adapter has it.
  connection_object* find(const connection& of) const {
    return verbs_.find(handle<connection_object>{of.completions.index, of.completions.generation});
  }
  /// The adapter closes the connection as soon as that is possible.
  void leave(connection_object& p);
  /// Starts to take back a connection that was left, or, if the teardown is orderly, the newest
  /// connection or memory. Returns false if there is none.
  bool take_back();
  /// True if an operation of take_back() is under way.
  bool works() const { return close_.under_way() || release_.under_way(); }
  /// Continues the teardown. Returns true if it has ended.
  bool go_down();
  status open_objects();
  status close_objects();

  struct ethernet_port {
    std::uint64_t mac = 0;
    gid addresses[ethernet_options::most_addresses];
    unsigned address_entries = 0;
  };

  setup setup_;                   // behind open(): the storage is that of the verbs object
  list<memory_object> memories_;  // in the order of their making
  list<connection_object, adapter> connections_;      // the same
  list<connection_object, adapter> left_;             // those that no program has
  list<connection_object, next_completion> waiting_;  // those for which operations wait
  device device_;
  verbs verbs_;
  pd_handle domain_{};
  ethernet_port ethernet_ports_[most_ports];
  // Null until open_ethernet(), so that a program without it links nothing of Ethernet.
  status (*ethernet_)(adapter& hca, opening& to) = nullptr;
  stage stage_ = stage::none;
  bool orderly_ = false;
  tearing_down* ending_ = nullptr;  // the operation that waits for the teardown
  operation down_;
  closing close_;
  releasing release_;
};

}  // namespace freehca::easy
