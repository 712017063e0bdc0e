// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A network interface on an Ethernet port: rings of receive buffers, rings of frames to send, and
// the steering that gives the interface its frames. It has no heap, no thread and no lock. The
// caller hands over the memory of all buffers, and polls. A network stack (lwIP, a TAP device) is
// on top of it. Its use:
//
//   network::interface nic;
//   network::interface_operation op;
//   op.up(nic, objects, {.port = 1, .memory = buffers, .memory_bytes = sizeof buffers});
//   while (!op.done()) objects.poll();                  // or op.then(), or co_await op
//
//   network::received_buffer got[16];                    // each turn of the stack's loop:
//   const unsigned n = nic.receive(0, got, 16);
//   for (unsigned i = 0; i < n; ++i) input(got[i].at, got[i].length);
//   nic.release(0, got, n);                              // or later, in any order
//
//   const queues::data_entry piece = nic.entry(frame, bytes);
//   nic.send(0, {.cookie = 7, .pieces = {&piece, 1}});   // the frame is in `memory`
//   std::uint64_t sent[16];
//   const unsigned done = nic.reap(0, sent, 16);         // cookies: their memory is free again
//
// Between the turns objects.poll() runs, which delivers events of the port.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/page_list.hpp>
#include <freehca/queues/frame_requests.hpp>
#include <freehca/queues/received_frame.hpp>

#include <freehca/hca/ethernet/set_ethernet_port.hpp>
#include <freehca/hca/kinds/flow_rule.hpp>
#include <freehca/hca/kinds/memory_region.hpp>
#include <freehca/hca/kinds/promiscuous_mode.hpp>
#include <freehca/hca/kinds/raw_ethernet_queue_pair.hpp>
#include <freehca/hca/kinds/rss_queue_pair.hpp>
#include <freehca/hca/port_operation.hpp>

namespace freehca::network {

inline constexpr unsigned most_receive_rings = 16, most_transmit_rings = 16, most_groups = 32;
/// A frame has so many bytes beside the IP packet, without the frame check sequence: addresses, two
/// VLAN tags, and the type.
inline constexpr std::uint32_t bytes_beside_ip = 22;
/// The longest headers of a large send: Ethernet with a VLAN tag, IPv6, and TCP with options.
inline constexpr std::uint16_t most_header_bytes = 128;

/// The frames that an interface takes besides those to the MAC of its port and broadcast.
struct interface_filter {
  const std::uint64_t* groups = nullptr;  ///< MAC addresses of groups, the first byte highest
  unsigned group_entries = 0;             ///< at most most_groups
  bool all_groups = false;
  bool promiscuous = false;  ///< frames to all addresses
};

struct interface_setup {
  unsigned port = 1;
  std::uint16_t mtu = default_ethernet_mtu;  ///< of IP: least_ethernet_mtu to the port's limit
  /// A power of two. With more than one ring, the device spreads frames over the rings by a hash of
  /// addresses and ports (RSS).
  unsigned receive_rings = 1;
  unsigned transmit_rings = 1;
  std::uint32_t receives = 256;       ///< buffers of each receive ring
  std::uint32_t sends = 256;          ///< frames outstanding in each transmit ring
  std::uint32_t buffer_bytes = 2048;  ///< of each receive buffer: interface::least_buffer_bytes()
  std::uint32_t headroom = 0;         ///< bytes of each receive buffer in front of the frame
  unsigned pieces = 4;                ///< most pieces of a frame that is sent
  bool large_sends = true;            ///< outgoing_frame::headers, if the device has it
  interface_filter filter{};
  /// The receive buffers, interface::receive_bytes() bytes, and behind them whatever frames the
  /// caller sends. If `pages` is empty, the platform maps the memory for the device, as with
  /// memory_region_attributes::memory. Otherwise `pages` are its pages, and its address has the
  /// offset of the first byte in the first page.
  std::byte* memory = nullptr;
  std::size_t memory_bytes = 0;
  page_list pages{};
  unsigned completion_context = 0;  ///< as in completion_queue_attributes
  void* cookie = nullptr;           ///< passed back in verbs_events::completion, of all rings
};

/// A received frame. It stays in its buffer until release().
struct received_buffer {
  std::byte* at = nullptr;  ///< the destination address; tags stay in the frame
  std::uint32_t length = 0;
  std::uint32_t hash = 0;  ///< 0: not hashed
  bool ip_checksum_ok = false;
  bool l4_checksum_ok = false;  ///< the checksum of TCP or UDP is right
  /// queues::no_tag, or the VLAN of the outer tag and its priority.
  std::uint16_t vlan = queues::no_tag;
  std::uint8_t priority = 0;
};

/// A frame to send, from the destination address on.
struct outgoing_frame {
  std::uint64_t cookie = 0;  ///< what reap() returns
  /// The frame, or the payload behind `headers`: entries of interface::entry(), or of another
  /// region. send() copies the list.
  queues::data_list pieces{};
  /// If `headers.from` is not null, the device cuts the payload into frames of `headers.payload`
  /// bytes, each with the headers (TCP segmentation). send() copies the headers. Both checksums of
  /// `options` are then set. The checksum of TCP in the headers is as for the options: of the
  /// pseudo header, without the length.
  queues::frame_headers headers{};
  /// Checksums that the device computes, and a tag that it inserts.
  queues::frame_options options{};
};

struct interface_counters {
  std::uint64_t received = 0, sent = 0;               ///< frames; a large send is one
  std::uint64_t receive_errors = 0, send_errors = 0;  ///< requests that failed
  std::uint64_t filtered = 0;                         ///< frames to addresses of others
};

enum class interface_state : std::uint8_t {
  down,
  changing,  ///< an interface_operation is under way
  up,
  /// An operation has failed and could not undo all its steps. interface_operation::down() goes on.
  partial,
};

/// The interface. A port has at most one: a second interface would change the settings of the port
/// and take its frames, and nothing refuses it. One thread at a time uses the interface: the owner
/// of `objects`, which is the control owner of the device. The memory, the verbs
/// object and the interface exist until it is down.
class interface {
 public:
  /// Adds to a budget the objects of one interface.
  static constexpr verbs_budget with_objects(const verbs_budget& b, const interface_setup& s);
  /// The bytes of the receive buffers, at the begin of interface_setup::memory.
  static constexpr std::size_t receive_bytes(const interface_setup& s) {
    return std::size_t{s.receive_rings} * s.receives * s.buffer_bytes;
  }
  static constexpr std::uint32_t least_buffer_bytes(std::uint32_t mtu, std::uint32_t headroom = 0) {
    return headroom + mtu + bytes_beside_ip;
  }

  interface() = default;
  interface(const interface&) = delete;
  interface& operator=(const interface&) = delete;

  interface_state state() const { return state_; }
  /// True while frames can be sent and received. False too if the device was reset, or if a ring is
  /// in error: interface_operation::down() and then up() bring it back.
  bool working() const;
  /// True if the port has a link. Frames that are sent without one are lost.
  bool link_up() const;
  std::uint64_t mac() const { return mac_; }
  const interface_setup& setup() const { return setup_; }
  bool has_large_sends() const { return large_sends_; }
  const interface_counters& counters() const { return counters_; }

  /// Takes at most `most` frames from a receive ring, without waiting. Filtered frames count, but
  /// are not returned. The result can therefore be 0 although frames wait: arm() then causes its
  /// event at once.
  unsigned receive(unsigned ring, received_buffer* to, unsigned most);
  /// Gives buffers back to the ring that they came from. Only `at` is read, which is anywhere in
  /// the buffer. Errors: driver_error::bad_argument (no buffer of the ring), ::queue_full (the ring
  /// has all its buffers), ::bad_state. The buffers in front of the wrong one are given back. A
  /// buffer that is given back twice while others are out is not noticed, and gets two frames.
  status release(unsigned ring, const received_buffer* buffers, unsigned count);

  /// Sends frames. Returns how many it has taken. If it is less than `count`, `why` has the reason:
  /// driver_error::queue_full (reap() makes room), ::bad_argument (a frame that the ring does not
  /// take), ::unsupported (a large send), ::bad_state.
  unsigned send(unsigned ring, const outgoing_frame* frames, unsigned count, status& why);
  status send(unsigned ring, const outgoing_frame& frame) {
    status why;
    send(ring, &frame, 1, why);
    return why;
  }
  /// Takes at most `most` cookies of frames that the device has sent, in the order of send(). A
  /// frame that failed is among them, and counts in counters().send_errors.
  unsigned reap(unsigned ring, std::uint64_t* cookies, unsigned most);
  /// Frames that are not reaped yet.
  std::uint32_t outstanding(unsigned ring) const;

  /// A piece of interface_setup::memory.
  queues::data_entry entry(const void* at, std::size_t bytes) const {
    return queues::entry_of(reinterpret_cast<std::uintptr_t>(at), bytes, key_);
  }
  /// Requests one verbs_events::completion for the next frame of each ring, received or sent.
  /// Called before the thread sleeps. Frames that came before it cause the event too.
  void arm();

 private:
  friend class interface_operation;
  static constexpr unsigned most_queues = most_receive_rings + most_transmit_rings;
  static constexpr unsigned own_rules = 2;  // of the MAC and of broadcast

  bool spreads() const { return setup_.receive_rings > 1; }
  unsigned first_sender() const { return spreads() ? setup_.receive_rings : 0; }
  unsigned pair_total() const { return first_sender() + setup_.transmit_rings + spreads(); }
  unsigned rule_total() const {
    const interface_filter& f = setup_.filter;
    return own_rules + f.group_entries + (f.all_groups || f.promiscuous);
  }
  /// The queue pair that gets the frames of the port.
  qp_handle receiving_pair() const { return pairs_[spreads() ? pair_total() - 1 : 0]; }
  void keep_filter(const interface_filter& f);

  queue_pair* pair(unsigned ring, unsigned rings, unsigned first) const {
    return ring < rings && objects_ != nullptr ? objects_->find(pairs_[first + ring]) : nullptr;
  }
  queue_pair* receiver(unsigned ring) const { return pair(ring, setup_.receive_rings, 0); }
  queue_pair* sender(unsigned ring) const {
    return pair(ring, setup_.transmit_rings, first_sender());
  }
  bool takes(const std::byte* frame) const;
  status post(queue_pair& to, std::byte* buffer) const;
  status post_all(unsigned ring) const;
  /// Null if there is no such queue.
  queues::cq* completions(unsigned queue) const;

  verbs* objects_ = nullptr;
  interface_setup setup_;
  interface_state state_ = interface_state::down;
  bool large_sends_ = false;
  bool opened_ = false;    // the port, by this interface
  bool steered_ = false;   // without rules: the port gives the interface all frames
  bool filters_ = false;   // the device does not: receive() looks at addresses
  std::uint32_t key_ = 0;  // of region_
  std::uint64_t mac_ = 0;
  interface_counters counters_;
  std::uint64_t groups_[most_groups] = {};
  // What there is, in the order of creation. The first queues and pairs are those of the receive
  // rings. With one receive ring, the first transmit ring's pair receives.
  pd_handle domain_{};
  mr_handle region_{};
  cq_handle queues_[most_queues]{};
  unsigned queue_count_ = 0;
  handle<receive_queue_range> range_{};
  handle<receive_work_queue> table_[most_receive_rings]{};
  qp_handle pairs_[most_queues + 1]{};  // the last one distributes the frames
  unsigned pair_count_ = 0;
  flow_rule_handle rules_[most_groups + own_rules + 1]{};
  unsigned rule_count_ = 0;
};

/// Brings an interface up, takes it down, or changes its filter. The caller owns the operation. A
/// done operation may be restarted. If a step of up() fails, if the operation is cancelled, or if
/// its deadline passes, the steps before it are undone. If it is ended early while the device
/// creates a rule, the rule stays until a reset (create_flow_rule), and down() fails with
/// driver_error::busy until then.
///
/// Outcomes besides those of the parts (set_ethernet_port, port_operation, create_object,
/// modify_queue_pair, create_flow_rule, set_promiscuous_mode): driver_error::bad_state (up() of
/// an interface that is not down, filter() of one that is not up), ::busy (another operation works
/// on it), ::bad_argument (verbs::refused() names the attribute, or device::refused() one of the
/// port), ::unsupported (an InfiniBand port, or not the control
/// owner), ::no_memory (`memory` is too small).
///
/// If the device steers by rules (steer_by_rules()), it gives the interface the frames of the
/// filter. Otherwise it gives the interface all frames of the port, and receive() drops others. A
/// device with neither rules nor promiscuous entries (A0 steering) is driver_error::unsupported.
class interface_operation : public stepper {
 public:
  interface_operation() = default;
  ~interface_operation() { drop(); }

  /// The list of groups is copied. The link may come up later: interface::link_up().
  void up(interface& nic, verbs& objects, const interface_setup& setup);
  /// Destroys what up() has created, and closes the port if up() has opened it. Frames that were
  /// not reaped or released are the caller's again once the outcome is ok. If a step fails, the
  /// rest stays (interface_state::partial), and down() may be repeated. After a reset of the device
  /// it succeeds at once.
  void down(interface& nic);
  /// Replaces the filter of an interface that is up. The list of groups is copied. Frames to the
  /// MAC of the port and broadcast go on. Frames of the filter may get lost meanwhile. If a step
  /// fails, the filter is incomplete, and filter() may be repeated.
  void filter(interface& nic, const interface_filter& to);

 private:
  enum class purpose : std::uint8_t { up, down, filter };
  /// The kind of the part under way. `none`: no part is left. Without rules, take_all and take_none
  /// give the interface all frames of the port, or none.
  // clang-format off
  enum class step : std::uint8_t {
    settings, open, region, queue, range, pair, move, rule, take_all,
    remove_rule, take_none, remove_pair, remove_range, remove_queue, remove_region, close, none
  };
  // clang-format on

  void begin(interface& nic, purpose why);
  void refuse(verbs& owner, status why);
  bool goes_down() const { return purpose_ == purpose::down || undoing(); }
  /// Starts the next part. step_ is step::none if none is left, or after an error.
  status go_on();
  status go_up();
  status go_down();
  void create_pair();
  void move_pair();
  void create_rule();
  void take_all(bool on);
  /// Notes what a part has changed.
  status record();
  /// Returns the outcome of the operation.
  status finished(status outcome);
  static void advance(stepper& self, status outcome) noexcept;

  interface* nic_ = nullptr;
  purpose purpose_ = purpose::up;
  step step_ = step::none;
  bool settled_ = false;  // the settings of the port are written
  bool trimmed_ = false;  // the rules of the old filter are removed
  unsigned moved_ = 0;    // transitions that are done, three for each queue pair
  set_ethernet_port settings_;
  port_operation port_;
  create_memory_region create_region_;
  destroy_memory_region destroy_region_;
  create_completion_queue create_queue_;
  destroy_completion_queue destroy_queue_;
  create_receive_queue_range create_range_;
  destroy_receive_queue_range destroy_range_;
  create_raw_ethernet_queue_pair create_pair_;
  create_receive_work_queue create_receiver_;
  create_rss_queue_pair create_spreader_;
  destroy_queue_pair destroy_pair_;
  modify_queue_pair move_;
  create_flow_rule create_rule_;
  destroy_flow_rule destroy_rule_;
  set_promiscuous_mode take_all_;
};

constexpr verbs_budget interface::with_objects(const verbs_budget& b, const interface_setup& s) {
  const std::uint32_t r = s.receive_rings, t = s.transmit_rings;
  verbs_budget to = b;
  to = to.with<protection_domain>(b.count<protection_domain>() + 1);
  to = to.with<memory_region>(b.count<memory_region>() + 1);
  to = to.with<completion_queue>(b.count<completion_queue>() + r + t);
  to = to.with<raw_ethernet_queue_pair>(b.count<raw_ethernet_queue_pair>() + t);
  to = to.with<receive_queue_range>(b.count<receive_queue_range>() + 1);
  to = to.with<receive_work_queue>(b.count<receive_work_queue>() + r);
  to = to.with<rss_queue_pair>(b.count<rss_queue_pair>() + 1);
  to = to.with<flow_rule>(b.count<flow_rule>() + most_groups + 3);
  to.requests += 4 * (r * s.receives + t * s.sends);
  return to;
}

}  // namespace freehca::network
