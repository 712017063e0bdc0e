// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

#include "basis/adapter.hpp"
#include "link/transport_packet.hpp"
#include "queues/queue_pair.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class drop_log;
class packet_sender;
class path_migration_machine;
class queue_pairs;
class send_engine;
struct transport_counters;

/// The requester of connected queue pairs (IBTA vol. 1, 9.7 and 9.8): request packets,
/// acknowledgements, responses, retries and their timers.
class requester final : private work_receiver {
 public:
  requester(adapter& a, queue_pairs& pairs, send_engine& sends, path_migration_machine& migration,
            transport_counters& counters, packet_sender& sender, drop_log& drops)
      : a_(a),
        work_(a.work, "requester", *this),
        pairs_(pairs),
        sends_(sends),
        migration_(migration),
        counters_(counters),
        sender_(sender),
        drops_(drops) {}

  /// Sends packet r.next_packet of a started request.
  std::optional<failure> send_packet(queue_pair& qp, send_request& r);

  /// A packet whose operation is a response. `v.rest` begins behind the BTH.
  void receive(queue_pair& qp, transport_packet v, layouts::bth_operation operation);

  /// Sees to it that the acknowledgement timer runs while something is unacknowledged.
  void watch(queue_pair& qp);

 private:
  void acknowledge(queue_pair& qp, std::uint32_t psn, layouts::image<layouts::aeth> answer);
  /// A gap was seen or told: one retry for it, however often it is told.
  void retry_gap(queue_pair& qp, std::uint32_t from);
  void read_response(queue_pair& qp, transport_packet& v, layouts::bth_operation operation);
  void atomic_response(queue_pair& qp, transport_packet& v);
  bool acknowledge_before(queue_pair& qp, std::uint32_t psn);
  void progress(queue_pair& qp);
  void retry(queue_pair& qp, std::uint32_t from);
  void fail_without_answer(queue_pair& qp, std::uint32_t from);
  void rewind(queue_pair& qp, std::uint32_t from);
  void wait_not_ready(queue_pair& qp, std::uint32_t from, unsigned timer_code);
  void fail_head(queue_pair& qp, failure why);
  void fail_for_want_of_place(queue_pair& qp);
  void timer_expired(std::uint32_t qpn);
  void receiver_ready(std::uint32_t qpn);

  // number: the queue pair; generation: queue_pairs::epoch()
  enum work : std::uint8_t { acknowledgement_timeout, end_of_rnr_wait };
  void run_item(work_item& what) override;
  work_item item(work kind, std::uint32_t qpn) const;

  adapter& a_;
  work_source work_;
  queue_pairs& pairs_;
  send_engine& sends_;
  path_migration_machine& migration_;
  transport_counters& counters_;
  packet_sender& sender_;
  drop_log& drops_;

 public:
  using saved = saving::fields<>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "set at construction"}};
};

}  // namespace freehca::model
