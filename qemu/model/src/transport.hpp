// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <freehca/model/request_fault.hpp>

#include "adapter.hpp"
#include "packet.hpp"

namespace freehca::model {

/// Which work request of which queue pair.
struct request_place {
  std::uint32_t qpn = 0;
  std::uint16_t index = 0;
};

/// Queue pairs and shared receive queues: their commands, work queue engines, the RC, UC and UD
/// state machines, and the special queue pairs. Packets leave through ports::transmit and arrive by
/// receive().
class transport {
 public:
  explicit transport(adapter& a);
  ~transport();
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  /// The send doorbell in a UAR page: QP `qpn` has new work requests.
  void send_doorbell(std::uint32_t uar, std::uint32_t qpn);
  /// A write into a BlueFlame page: `bytes` bytes of a WQE at `offset` in the register pair, in bus
  /// order.
  void blueflame(std::uint32_t uar, std::uint32_t offset, const std::byte* from, std::size_t bytes);

  /// A packet has arrived on port `port` (1-based).
  void receive(unsigned port, const packet& p);

  /// What waits for the cable of port `port` (ports::held_up()) goes on.
  void port_has_room(unsigned port);

  /// Writes what hardware has changed in the context of queue pair `qpn` to context memory, as it
  /// does from time to time by itself. A queue pair in the reset state has nothing to write.
  void write_back(std::uint32_t qpn);

  /// The QPN of special QP 0 or 1 of port `port` (CONF_SPECIAL_QP); 0: none was configured.
  std::uint32_t special_qp(unsigned port, unsigned qp) const;
  /// A send that is under way and names the local key `lkey` (queue_pairs::send_under()).
  std::optional<request_place> send_under(std::uint32_t lkey) const;
  void judge(request_judge by);
  void clear();

  struct parts;

 private:
  void ring(std::uint32_t uar, std::uint32_t qpn, bool pushed);

  std::unique_ptr<parts> parts_;
};

}  // namespace freehca::model
