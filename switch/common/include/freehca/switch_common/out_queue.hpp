// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <vector>

namespace freehca::switch_common {

/// Packets or frames that wait to leave by one port. Management (InfiniBand's lane 15) goes before
/// all others (IBTA vol. 1, 7.6.9). Each kind has a bound of its own: who does not take what he is
/// sent costs nobody else anything.
class out_queue {
 public:
  using bytes = std::vector<std::byte>;
  /// Sends a packet, or says that there is no room.
  using sender = std::function<bool(std::span<const std::byte>)>;

  /// Hardware has some hundred kilobytes for all ports and holds senders up by credits. Here a
  /// sender is held up by nothing, so what a reliable connection may have under way fits. no
  /// source: chosen
  static constexpr std::size_t most_bytes = std::size_t{8} << 20, most_management = 256;

  explicit out_queue(sender send) : send_(std::move(send)) {}

  /// False: there is no room for it, and it is dropped.
  bool add(bytes packet, bool management);
  /// There is room again.
  void send_all();
  void clear();
  bool empty() const { return management_.empty() && data_.empty(); }
  /// The other end has not taken what it was sent, and has not said that there is room again.
  bool full() const { return full_; }
  void begin_again() {
    clear();
    full_ = false;
  }
  /// A link packet: it goes at once or not at all.
  bool send_now(std::span<const std::byte> packet);

 private:
  bool put(const bytes& packet);

  sender send_;
  std::deque<bytes> management_, data_;
  std::size_t data_bytes_ = 0;
  bool full_ = false;
};

}  // namespace freehca::switch_common
