// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <freehca/layouts/mad.hpp>

#include "basis/scheduler.hpp"
#include "fabric/mad_packet.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// The sending side of the reliable multi-packet protocol (IBTA vol. 1, 13.6) for subnet
/// administration: tables of records of any length, a window at a time, sent again when nobody
/// acknowledges.
class rmpp_sender final : private work_receiver {
 public:
  rmpp_sender(scheduler& in, const std::string& owner, std::function<void(const mad_packet&)> send)
      : account_(in.account()), work_(in, owner + ", RMPP", *this), send_(std::move(send)) {}

  /// Sends `payload` under `header` (method, attribute and status filled in) as `way` says.
  void start(const mad_packet& way, const layouts::image<layouts::sa_mad>& header,
             std::vector<std::byte> payload);
  /// A MAD of the protocol has come: an acknowledgement, a stop or an abort.
  void receive(const mad_packet& m);
  void clear();

 private:
  static constexpr std::uint64_t resend_after_ns = 500'000'000;
  static constexpr unsigned tries_at_most = 5, transfers_at_most = 64;
  static constexpr std::size_t segment_bytes = 200, header_bytes = 20;

  using key = std::tuple<std::uint16_t, std::uint32_t, std::uint64_t>;  ///< LID, QP, transaction
  struct transfer {
    mad_packet way;
    layouts::image<layouts::sa_mad> header;
    std::vector<std::byte> payload;
    std::uint64_t segments = 1, acknowledged = 0, sent = 0, window_last = 1;
    unsigned tries = 0;
    std::uint64_t number = 0;  ///< names the transfer where work is scheduled for it
    scheduler::ticket again;

    using saved =
        saving::fields<&transfer::way, &transfer::header, &transfer::payload, &transfer::segments,
                       &transfer::acknowledged, &transfer::sent, &transfer::window_last,
                       &transfer::tries, &transfer::number, &transfer::again>;
    const char* broken_invariant() const;
  };
  static std::uint64_t segments_of(std::size_t payload_bytes);
  void send_window(const key& k);
  void send_segment(const transfer& t, std::uint64_t number);
  void drop(const key& k);
  void nobody_acknowledged(const key& k, transfer& t);

  enum work : std::uint8_t { next_slice, resend };  // value: the number of the transfer
  void run_item(work_item& what) override;

  work_account& account_;
  work_source work_;
  std::function<void(const mad_packet&)> send_;
  std::map<key, transfer> transfers_;
  std::uint64_t next_number_ = 0;

 public:
  using saved = saving::fields<&rmpp_sender::transfers_, &rmpp_sender::next_number_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "a work source"},
                                                       {"send_", "a function set at construction"}};
  const char* broken_invariant() const {
    return transfers_.size() <= transfers_at_most ? nullptr : "there are too many transfers";
  }
};

}  // namespace freehca::model
