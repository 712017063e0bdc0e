// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/headers.hpp>
#include <freehca/layouts/qpc.hpp>

#include "basis/port_layers.hpp"
#include "basis/scheduler.hpp"
#include "link/path.hpp"
#include "link/psn.hpp"
#include "queues/send_prefetch.hpp"
#include "queues/send_window.hpp"
#include "queues/work_request.hpp"
#include "saving/fields.hpp"
#include "tables/memory_regions.hpp"

namespace freehca::model {

/// Where a work queue's entries stand: 2^log_entries of 2^log_stride bytes, from `first` bytes into
/// the queue pair's buffer on.
struct work_queue {
  bool present = false;
  std::uint64_t first = 0;
  unsigned log_entries = 0, log_stride = 6;

  std::uint32_t entries() const { return 1u << log_entries; }
  /// The owner bit with which the entry at `counter` is hardware's: it changes each time round.
  bool hardware_owner(std::uint16_t counter) const { return (counter >> log_entries & 1) != 0; }
  std::uint64_t bytes() const { return std::uint64_t{1} << (log_entries + log_stride); }

  static constexpr saving::unsaved_member unsaved[] = {
      {"present", "queue_pair decodes it from the context"},
      {"first", "queue_pair decodes it from the context"},
      {"log_entries", "queue_pair decodes it from the context"},
      {"log_stride", "queue_pair decodes it from the context"}};
};

/// The send queue's execution.
struct send_side {
  work_queue ring;
  std::uint16_t counter = 0;  ///< WQEs fetched, in queue entries
  send_window window;
  std::uint32_t ssn = 0;  ///< requests sent since the queue pair was reset
  /// A doorbell came since the reset state; until then the entries are not looked at: Linux never
  /// stamps the send queue of a user's XRC target, which goes to RTS nevertheless (hw/mlx4/qp.c
  /// __mlx4_ib_modify_qp stamps kernel queue pairs only, and libmlx4 knows no queue there).
  bool rung = false;
  std::uint64_t hears_at = 0;  ///< no new request before that: its doorbell is still on the way
  /// A doorbell came since the last look found an entry that is the software's: until then entries
  /// are taken.
  bool armed = false;
  /// Since the reset state: doorbells, and requests fetched. A driver rings behind one entry or
  /// many. What is behind a doorbell may have been fetched for the one before, and no more than
  /// that, where it rings before it gives the next (options::doorbells_under_way).
  std::uint64_t doorbells = 0, taken = 0;
  std::uint16_t covered = 0;  ///< the counter behind the last request that a completion told of
  unsigned looks = 0;         ///< at an entry that should be hardware's, without the rule for it
  bool scheduled = false;     ///< a run is on its way
  bool waiting_rnr = false;
  bool held_up = false;        ///< the packet whose turn it is waits for room at the port
  bool second_chance = false;  ///< the acknowledgement timer has expired once without progress
  bool drain_event = false;    ///< tell when the queue has drained
  std::unique_ptr<send_prefetch> ahead;  ///< what was read ahead; made when it is first needed
  /// Doorbells that are being served told of the queue alone: hardware reads it, and ahead in it.
  /// What comes by BlueFlame it has already.
  bool reads_ahead = false;
  std::uint64_t last_progress = 0;  ///< time
  scheduler::ticket timer, rnr_timer;

  /// Doorbells have been served: the next entry is the software's. One that comes for what is taken
  /// already is owed no entry.
  void served(std::uint64_t under_way) {
    armed = reads_ahead = false;
    if (doorbells + under_way < taken) doorbells = taken - under_way;
    if (doorbells > taken) doorbells = taken;
  }

  using saved = saving::fields<
      &send_side::counter, &send_side::window, &send_side::ssn, &send_side::rung,
      &send_side::hears_at, &send_side::armed, &send_side::doorbells, &send_side::taken,
      &send_side::covered, &send_side::looks, &send_side::scheduled, &send_side::waiting_rnr,
      &send_side::held_up, &send_side::second_chance, &send_side::drain_event, &send_side::ahead,
      &send_side::reads_ahead, &send_side::last_progress, &send_side::timer, &send_side::rnr_timer>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"ring", "queue_pair decodes it from the context"}};
};

/// Reads and atomics that wait for their turn because their requests came again, at most: more are
/// dropped, and come once more.
inline constexpr std::size_t responses_max = 64;
/// Answers of one queue pair that wait, of any kind: more than log_max_ra_res_qp lets a requester
/// ask for. No source: chosen.
inline constexpr std::size_t responses_held = 256;

/// What a responder still has to send, in order.
struct response {
  enum class kind : std::uint8_t { acknowledge, read, atomic };
  kind what = kind::acknowledge;
  std::uint32_t psn = 0;
  std::uint32_t msn = 0;  ///< as it was when the request was executed
  layouts::aeth_type type = layouts::aeth_type::ack;
  std::uint8_t value = layouts::aeth_credits_invalid;
  std::uint64_t original = 0;        ///< atomic
  data_owner owner;                  ///< read: who uses the remote key
  std::uint64_t address = 0;         ///< read: of the next packet
  std::uint32_t rkey = 0, left = 0;  ///< read
  bool begun = false;                ///< read: the first packet has left
  bool repeated = false;  ///< read or atomic: asked for again, uses no resource of its own
  bool last = false;      ///< a refusal: the queue pair errs when it has left ...
  std::optional<layouts::event_type> event;      ///< ... with this event
  std::shared_ptr<const rule_book::reason> why;  ///< of the event

  using saved =
      saving::fields<saving::up_to(&response::what, kind::atomic), &response::psn, &response::msn,
                     saving::up_to(&response::type, layouts::aeth_type::nak), &response::value,
                     &response::original, &response::owner, &response::address, &response::rkey,
                     &response::left, &response::begun, &response::repeated, &response::last,
                     &response::event, &response::why>;
  const char* broken_invariant() const;
};

/// A read or an atomic that was executed, in case the request comes again.
struct responder_resource {
  layouts::bth_operation operation = layouts::bth_operation::rdma_read_request;
  std::uint32_t psn = 0;
  std::uint64_t address = 0;          ///< read
  std::uint32_t rkey = 0, bytes = 0;  ///< read
  std::uint64_t original = 0;         ///< atomic: the answer

  using saved =
      saving::fields<saving::any_value(&responder_resource::operation), &responder_resource::psn,
                     &responder_resource::address, &responder_resource::rkey,
                     &responder_resource::bytes, &responder_resource::original>;
  const char* broken_invariant() const;
};

/// The receiving side: the message in progress and the answers to send.
struct receive_side {
  work_queue ring;
  std::uint16_t counter = 0;  ///< WQEs taken
  std::uint16_t posted = 0;   ///< the doorbell record when last read
  std::uint32_t expected_psn = 0, msn = 0;
  enum class message : std::uint8_t { none, send, write, skip } in_progress = message::none;
  std::uint64_t received = 0;              ///< bytes of the message
  std::optional<receive_request> request;  ///< taken for the message in progress
  std::uint64_t write_address = 0;
  std::uint32_t write_rkey = 0, write_left = 0;
  std::uint32_t xrc_srqn = 0;
  data_owner remote;      ///< who uses remote keys
  bool nak_sent = false;  ///< waits for the expected PSN; says nothing until then
  bool closing = false;   ///< a refusal is on its way out: no more requests
  bool communication_established = false;
  std::deque<response> responses;
  std::deque<responder_resource> executed;  ///< reads and atomics: the latest, in order
  bool scheduled = false;

  using saved =
      saving::fields<&receive_side::counter, &receive_side::posted, &receive_side::expected_psn,
                     &receive_side::msn, saving::up_to(&receive_side::in_progress, message::skip),
                     &receive_side::received, &receive_side::request, &receive_side::write_address,
                     &receive_side::write_rkey, &receive_side::write_left, &receive_side::xrc_srqn,
                     &receive_side::remote, &receive_side::nak_sent, &receive_side::closing,
                     &receive_side::communication_established, &receive_side::responses,
                     &receive_side::executed, &receive_side::scheduled>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"ring", "queue_pair decodes it from the context"}};
  const char* broken_invariant() const;
};

/// A queue pair that is not in the reset state: its context, and the execution state that hardware
/// keeps beside it. `context` is written back to ICM by queue_pairs::store.
struct queue_pair {
  std::uint32_t qpn = 0;  ///< place in the table; the number that completions carry is number()
  layouts::image<layouts::qpc> context;
  bool dirty = false;  ///< the context in ICM is behind

  // decoded from the context by refresh()
  layouts::qp_state state = layouts::qp_state::reset;
  layouts::qp_service service = layouts::qp_service::rc;
  data_owner owner;
  queue_buffer buffer;
  path way, alternate;
  unsigned mtu = 256;
  std::uint64_t message_bytes_max = 0;
  std::uint32_t send_cqn = 0, receive_cqn = 0, srqn = 0;
  bool shared_receive = false;
  bool on_ethernet = false;  ///< by its port
  unsigned special = 0;      ///< 0: none; 1: QP0; 2: QP1 of port special_port
  unsigned special_port = 0;
  bool flushing = false;
  bool flush_told = false;         ///< that work is flushed was explained, since the last error
  bool migration_refused = false;  ///< a request to migrate was, since the queue pair was armed
  std::uint64_t room_turn = 0;     ///< its turn among those that wait for room; 0: it does not

  // kept by queue_pairs
  port_layers::change_counts links{};  ///< the changes that were applied to it
  std::array<bool, 2> counted{};       ///< as one that is bound to the link of port 1, of port 2
  queue_pair *older = nullptr, *newer = nullptr;

  send_side sq;
  receive_side rq;

  /// Decodes the context's fields into the members above.
  void refresh(const port_layers& layers);
  /// Raw Ethernet: its sends and receives are frames. (On InfiniBand the service MLX sends packets
  /// whose headers software made.)
  bool carries_frames() const {
    return on_ethernet && service == layouts::qp_service::mlx && special == 0;
  }
  /// Does its work only go by the link of that port as it is? One of service MLX on InfiniBand does
  /// not: iPXE brings its queue pair of frames to RTS before it makes the port one of Ethernet
  /// (hermon.c hermon_eth_open).
  bool bound_to_link(unsigned port) const {
    const bool alternates = migration() != layouts::path_migration::migrated;
    if (connected()) return way.port == port || (alternates && alternate.port == port);
    return way.port == port && carries_frames();
  }
  /// Its context speaks of one receive, which may not be there, nor a doorbell record: mlx4_en's
  /// transmit rings say so of none (en_resources.c mlx4_en_fill_qp_context), a user's queue pair
  /// of one (hw/mlx4/qp.c set_rq_size). Only a frame that is steered to it is a reason to look.
  bool may_lack_receives() const { return carries_frames() && rq.ring.log_entries == 0; }
  bool spreads() const { return context.get<&layouts::qpc::rss>(); }
  std::uint32_t number() const {
    return static_cast<std::uint32_t>(context.get<&layouts::qpc::local_qpn>());
  }
  bool reliable() const {
    return service == layouts::qp_service::rc || service == layouts::qp_service::xrc;
  }
  layouts::path_migration migration() const { return context.get<&layouts::qpc::pm_state>(); }
  bool connected() const { return reliable() || service == layouts::qp_service::uc; }
  send_window::retry_limits retry_limits() const {
    return {static_cast<unsigned>(context.get<&layouts::qpc::retry_count>()),
            static_cast<unsigned>(context.get<&layouts::qpc::rnr_retry>())};
  }
  /// What it has sent may be under way, and be answered.
  bool can_send() const {
    return state == layouts::qp_state::rts || state == layouts::qp_state::sq_drained ||
           state == layouts::qp_state::sq_draining;
  }
  bool can_receive() const {
    return can_send() || state == layouts::qp_state::rtr || state == layouts::qp_state::sq_error;
  }

 private:
  /// The steps of refresh(). The places of the queues depend on on_ethernet.
  void decode_fields();
  void place_queues();

 public:
  using saved =
      saving::fields<&queue_pair::qpn, &queue_pair::context, &queue_pair::dirty,
                     &queue_pair::on_ethernet, &queue_pair::special, &queue_pair::special_port,
                     &queue_pair::flushing, &queue_pair::flush_told, &queue_pair::migration_refused,
                     &queue_pair::room_turn, &queue_pair::links, &queue_pair::counted,
                     &queue_pair::sq, &queue_pair::rq>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"state", "decode_fields() decodes it"},
      {"service", "decode_fields() decodes it"},
      {"owner", "decode_fields() decodes it"},
      {"buffer", "decode_fields() decodes it"},
      {"way", "decode_fields() decodes it"},
      {"alternate", "decode_fields() decodes it"},
      {"mtu", "decode_fields() decodes it"},
      {"message_bytes_max", "decode_fields() decodes it"},
      {"send_cqn", "decode_fields() decodes it"},
      {"receive_cqn", "decode_fields() decodes it"},
      {"srqn", "decode_fields() decodes it"},
      {"shared_receive", "decode_fields() decodes it"},
      {"older", "queue_pairs saves the order of its list"},
      {"newer", "queue_pairs saves the order of its list"}};
  /// The link that on_ethernet tells of may be one that was replaced: queue_pairs has not applied
  /// the change yet, or the queue pair is in error since.
  template <class Archive>
  void transfer_state(Archive& archive) {
    transfer_members(archive, *this);
    // A receive queue that makes no sense is given up (receive_queues), and the context still has
    // it.
    bool takes_receives = rq.ring.present;
    transfer(archive, takes_receives);
    if constexpr (Archive::loads) {
      decode_fields();
      place_queues();
      rq.ring.present = rq.ring.present && takes_receives;
    }
  }
  const char* broken_invariant() const;
};

}  // namespace freehca::model
