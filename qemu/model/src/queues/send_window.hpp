// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "link/psn.hpp"
#include "queues/work_request.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// The requests that a send queue has fetched and not completed, oldest first, and their progress:
/// sequence numbers, the request whose turn it is to be sent, what is acknowledged, the responses
/// that are awaited, and the retries that are left. All requests before that turn have been sent
/// once, or are done.
///
/// A message gets all its sequence numbers when it starts. A read has a number for each packet of
/// its response. Numbers are compared by their distance around the circle (link/psn.hpp).
class send_window {
 public:
  /// The retries that the queue pair's context allows.
  struct retry_limits {
    unsigned retries = 0, rnr_retries = 0;
  };
  /// An RNR retry count of 7 never ends (IBTA vol. 1, 9.7.5.2.8).
  static constexpr unsigned endless_rnr_retries = 7;
  /// Packets sent and not acknowledged, per queue pair: enough to keep the loop busy, few enough
  /// that packets which wait inside the model take little memory.
  static constexpr std::uint32_t packets_ahead_most = 128;

  /// The queue pair can send: the first packet has number `psn`. Only the packets of a `reliable`
  /// queue pair are acknowledged.
  void begin(std::uint32_t psn, bool reliable, retry_limits most);

  bool empty() const { return requests_.empty(); }
  std::size_t size() const { return requests_.size(); }
  const std::deque<send_request>& requests() const { return requests_; }
  const send_request& oldest() const { return requests_.front(); }
  void add(send_request&& r) { requests_.push_back(std::move(r)); }
  send_request take_oldest();

  bool all_sent() const { return cursor_ == requests_.size(); }
  /// The request whose turn it is. Precondition: !all_sent().
  send_request& current() { return requests_[cursor_]; }
  bool current_is_oldest() const { return cursor_ == 0; }
  /// The current request is done without a packet.
  void finish_current();
  /// Whether a message of `psns` numbers can start: half of the circle of numbers stays unused
  /// (IBTA vol. 1, 9.7.2).
  bool has_room(std::uint32_t psns) const;
  /// Starts the current request, which has set send_request::psns.
  void start_current();
  /// Whether the next packet of the current request is within packets_ahead_most. A read or an
  /// atomic also needs a responder resource, of which there are `responses_most`.
  bool may_send_current(std::uint32_t responses_most) const;
  /// The number of the current request's next packet. A read that is repeated asks for the rest of
  /// its response.
  std::uint32_t psn_of_current() const;
  /// The packet with that number was handed to the port.
  void packet_sent();
  /// Called after packet_sent(). Returns false if the current request has more packets. Otherwise
  /// the next request has its turn.
  bool message_sent();
  bool awaits_responses() const { return responses_awaited_ != 0; }

  bool is_acknowledged(std::uint32_t psn) const { return psn_distance(psn, unacked_psn_) < 0; }
  bool was_sent(std::uint32_t psn) const { return psn_distance(psn, sent_psn_) < 0; }
  bool has_outstanding() const { return unacked_psn_ != next_psn_; }
  std::uint32_t next_psn() const { return next_psn_; }
  std::uint32_t unacked_psn() const { return unacked_psn_; }
  std::uint32_t sent_psn() const { return sent_psn_; }

  struct acknowledgement {
    bool progress = false;
    /// A response with this number was passed over, so it was lost (IBTA vol. 1, 9.7.5.1.4, implied
    /// NAK). Nothing from it on is acknowledged.
    std::optional<std::uint32_t> missing;
  };
  /// All packets before `psn` are acknowledged.
  acknowledgement acknowledge_before(std::uint32_t psn);
  /// The read, or the atomic, that waits for the response with this number. Null: there is none.
  send_request* awaited_read(std::uint32_t psn);
  send_request* awaited_atomic(std::uint32_t psn);
  /// The next response packet of such a request has come.
  void response_came(send_request& r);

  /// There was progress: all retries are allowed again.
  void restore_retries(retry_limits most);
  /// False if a retry is under way already. It lasts until restore_retries() or end_retry().
  bool begin_retry() { return !std::exchange(retry_started_, true); }
  void end_retry() { retry_started_ = false; }
  /// False: no retry is left.
  bool use_retry();
  bool use_rnr_retry();
  void set_retries(unsigned most) { retries_left_ = most; }
  unsigned retries_left() const { return retries_left_; }
  unsigned rnr_retries_left() const { return rnr_retries_left_; }
  /// The packets from `psn` on are sent again.
  void rewind(std::uint32_t psn);

  /// The oldest request that is not done fails.
  void fail_oldest(failure why, rule_book& rules);
  /// Nothing more is sent: the requests are flushed.
  void stop();
  /// The started requests do not succeed: an earlier one has failed.
  void forget_done();

  /// Names an invariant that does not hold; null: all hold.
  const char* broken_invariant() const;
  /// The same of what a load requires beyond that, so that broken_invariant() stays null whatever
  /// the queue pair does next.
  const char* broken_order() const;
  /// The same of a reliable queue pair that can send.
  const char* broken_progress() const;
  bool is_reliable() const { return reliable_; }

 private:
  bool counts_as_awaited(const send_request& r) const {
    return r.expects_response() && r.next_packet != 0 && !r.done;
  }
  template <class Matches>
  send_request* awaited(Matches matches);
  void check() const;

  std::deque<send_request> requests_;
  std::size_t cursor_ = 0;  ///< index of the current request
  std::uint32_t next_psn_ = 0, unacked_psn_ = 0;
  /// Behind the last packet that was handed to the port, and for a read behind its last response.
  /// It is behind next_psn_ while a message is being sent. A retry does not lower it.
  std::uint32_t sent_psn_ = 0;
  unsigned responses_awaited_ = 0;   ///< reads and atomics sent and not answered
  std::uint32_t response_psns_ = 0;  ///< packets of responses awaited
  unsigned retries_left_ = 0, rnr_retries_left_ = 0;
  bool retry_started_ = false;
  bool reliable_ = false;

 public:
  using saved =
      saving::fields<&send_window::requests_, &send_window::cursor_, &send_window::next_psn_,
                     &send_window::unacked_psn_, &send_window::sent_psn_,
                     &send_window::responses_awaited_, &send_window::response_psns_,
                     &send_window::retries_left_, &send_window::rnr_retries_left_,
                     &send_window::retry_started_, &send_window::reliable_>;
  template <class Archive>
  void transfer_state(Archive& archive) {
    transfer_members(archive, *this);
    if constexpr (Archive::loads)
      if (const char* broken = broken_order()) archive.refuse("%s", broken);
  }
};

}  // namespace freehca::model
