// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <freehca/model/request_fault.hpp>

#include "basis/adapter.hpp"
#include "link/packet_receiver.hpp"
#include "queues/uar_users.hpp"
#include "saving/fields.hpp"
#include "steering/listening.hpp"
#include "tables/key_users.hpp"

namespace freehca::model {

/// Queue pairs and shared receive queues: their commands, work queue engines, the RC, UC and UD
/// state machines, and the special queue pairs. Packets leave through ports::transmit and arrive by
/// receive().
class transport final : public packet_receiver, public key_users {
 public:
  explicit transport(adapter& a);
  ~transport() override;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  /// The send doorbell in a UAR page: QP `qpn` has new work requests.
  void send_doorbell(std::uint32_t uar, std::uint32_t qpn);
  /// uar_looks::look().
  void look_at(std::uint32_t uar, uar_users::kind what);
  /// A write into a BlueFlame page: `bytes` bytes of a WQE at `offset` in the register pair, in bus
  /// order.
  void blueflame(std::uint32_t uar, std::uint32_t offset, const std::byte* from, std::size_t bytes);

  void receive(unsigned port, const packet& p) override;

  void receive_frame(unsigned port, const frame& f) override;

  /// Which frames of an Ethernet port go to queue pairs.
  listening listens(unsigned port);

  void port_has_room(unsigned port) override;
  bool bound_to_link(unsigned port) const override;
  void link_replaced(unsigned port) override;

  /// Writes what hardware has changed in the context of queue pair `qpn` to context memory, as it
  /// does from time to time by itself. A queue pair in the reset state has nothing to write.
  void write_back(std::uint32_t qpn);

  std::uint32_t special_qp(unsigned port, unsigned qp) const override;
  std::optional<request_place> send_under(std::uint32_t lkey) const override;
  void judge(request_judge by);
  bool is_judged() const;
  void clear();

  void transfer_state(saving::writer& to);
  void transfer_state(saving::reader& from);

  struct parts;

 private:
  void ring(std::uint32_t uar, std::uint32_t qpn, bool pushed);

  std::unique_ptr<parts> parts_;

 public:
  using saved = saving::fields<saving::behind(&transport::parts_)>;
};

}  // namespace freehca::model
