// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <freehca/layouts/headers.hpp>

#include "basis/adapter.hpp"
#include "link/link_fault_source.hpp"
#include "link/link_peer.hpp"
#include "link/packet_buffers.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class infiniband_port;

/// After it the far end of an InfiniBand cable counts as gone.
inline constexpr std::uint64_t cable_silence_ns = 10'000'000'000;

/// A port's end of a cable to a port of another adapter, or of this one. Packets get their CRCs
/// here, and lose them.
///
/// Whether somebody is at the other end is told by link packets. An open port that has no link
/// sends training_1, and training_2 when it has heard the other end for as long as training takes;
/// it is up when it has heard training_2 or flow control too. From then on it sends flow control
/// packets, for each data lane one, as a sign of life. A port whose transmitter goes off says so.
/// The link is lost when the other end says that, begins to train anew, or is not heard for long.
///
/// Flow control is told but not obeyed: the lane's buffers are the queue before link_send, which
/// never loses. While that is full, senders that use the port wait. Lane 15 has no flow control and
/// goes before all others (IBTA vol. 1, 7.6.9).
class cable final : public link_peer, private work_receiver {
 public:
  cable(adapter& a, infiniband_port& end, unsigned number);

  // link_peer
  void receive(const packet& p) override;
  void link_changed(bool up) override;
  void transmitter(bool on) override;
  bool present() const override { return partner_ != partner::absent; }
  bool ready() override;

  // As their namesakes in class device.
  void arrived(std::span<const std::byte> bytes);
  void has_room();
  void plug(bool plugged);
  void set_faults(const link_faults& how) { faults_.set(how); }
  /// Packets wait for room. When none does any more, transport::port_has_room() is called.
  bool full() const { return !waiting_.empty(); }  // management alone holds nobody up

 private:
  enum class partner : std::uint8_t { absent, training, ready };
  static constexpr unsigned lanes = 16;

  packet_buffers& buffers();
  void packet_arrived(std::vector<std::byte>&& bytes);
  void link_packet_arrived(std::span<const std::byte> bytes);
  void heard(partner now);
  void lost();
  void signal();
  void beat();
  void tell(layouts::link_packet_op op, unsigned lane);
  void send_packet(std::vector<std::byte> bytes);
  void release_held_back();
  void send(std::vector<std::byte> bytes);
  void send_all_waiting();
  /// Whether all that waits there has gone; what a slice leaves goes in another.
  bool send_waiting(std::deque<std::vector<std::byte>>& packets);
  /// To environment::link_send; false: there is no room.
  bool put(std::span<const std::byte> bytes);
  void drop_waiting();
  void count_error(std::uint64_t& kind);

  enum work : std::uint8_t { arrival_of_bytes, beat_due, release, unplugged, send_on };
  void run_item(work_item& what) override;

  adapter& a_;
  work_source work_;
  infiniband_port& port_;
  const unsigned number_;
  bool plugged_ = true, on_ = false, up_ = false;
  bool said_ready_ = false;
  partner partner_ = partner::absent;
  std::uint64_t heard_at_ = 0;
  scheduler::ticket beat_;
  link_fault_source faults_;
  std::vector<std::byte> held_back_;  ///< until the next packet has gone
  scheduler::ticket release_;
  bool full_ = false;  ///< link_send has no room
  std::deque<std::vector<std::byte>> waiting_management_, waiting_;
  bool missed_signal_ = false;  ///< a link packet found no room
  std::array<std::uint16_t, lanes> blocks_sent_{}, blocks_received_{};
  std::uint64_t bad_vcrc_ = 0, bad_icrc_ = 0, malformed_ = 0, bad_link_packets_ = 0;

 public:
  using saved = saving::fields<&cable::plugged_, &cable::on_, &cable::up_, &cable::said_ready_,
                               saving::up_to(&cable::partner_, partner::ready), &cable::heard_at_,
                               &cable::beat_, &cable::faults_, &cable::held_back_, &cable::release_,
                               &cable::full_, &cable::waiting_management_, &cable::waiting_,
                               &cable::missed_signal_, &cable::blocks_sent_,
                               &cable::blocks_received_, &cable::bad_vcrc_, &cable::bad_icrc_,
                               &cable::malformed_, &cable::bad_link_packets_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "set at construction"}};
  const char* broken_invariant() const;
};

}  // namespace freehca::model
