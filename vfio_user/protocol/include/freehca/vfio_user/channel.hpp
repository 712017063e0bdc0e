// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <freehca/vfio_user/descriptor.hpp>
#include <freehca/vfio_user/messages.hpp>

namespace freehca::vfio_user {

/// The most that region_read and its like carry, either way.
inline constexpr std::uint32_t greatest_data = 1u << 20;
/// The most that stands behind a header: the greatest data, and the structure in front of it.
inline constexpr std::uint32_t greatest_body = greatest_data + 64;
/// In one message. QEMU's client takes no server that wants to be sent more than 16 (its
/// hw/vfio-user/proxy.c).
inline constexpr unsigned greatest_descriptors = 16;

struct message {
  header head{};
  std::vector<std::byte> body;
  std::vector<descriptor> descriptors;
  /// The body was longer than greatest_body, and was thrown away; the next message is in its place.
  bool too_long = false;
  /// There were more descriptors than greatest_descriptors; all were closed.
  bool too_many_descriptors = false;
  /// There was no memory for the body or for the descriptors. The body was thrown away, the
  /// descriptors were closed.
  bool no_memory = false;
};

enum class arrival {
  nothing,  ///< no whole message yet
  message,
  closed,  ///< the other end has gone
  /// A header that says a size below its own: where the next message begins is not known. `head` of
  /// the message has it.
  out_of_step,
};

/// Where messages land that are short enough, before anybody looks at them: in memory that outlives
/// the process, it tells what the process had in hand when it was killed. `head.bytes` is 0 when
/// there is nothing.
struct landing {
  header head;
  std::array<std::byte, 8192> body;
  /// A message is taken, or an answer is sent, in more than one call: what is not done yet cannot
  /// be done by anybody else.
  bool in_pieces;

  bool holds_message() const { return head.bytes != 0; }
  /// Nothing that is done before it comes after it.
  void clear() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    head.bytes = 0;
    in_pieces = false;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
};
static_assert(offsetof(landing, body) == sizeof(header));

/// One end of a connection: messages with descriptors over a stream socket. It never waits for the
/// other end to send; it waits for it to take what is sent, for as long as the patience goes.
class channel {
 public:
  channel() = default;
  explicit channel(descriptor socket);

  bool open() const { return socket_.open(); }
  int socket() const { return socket_.get(); }
  void close();

  /// Takes what has arrived, up to the end of the next message.
  arrival receive(message& to);

  /// Header, first part and second part are one message; `head.bytes` is filled in. False: the
  /// other end has gone, or does not take it.
  bool send(header head, std::span<const std::byte> first = {},
            std::span<const std::byte> second = {}, std::span<const int> descriptors = {});

  void set_patience(int milliseconds) { patience_ms_ = milliseconds; }
  /// It stays where it is for as long as the channel is used. Whoever has done with a
  /// message clears it.
  void land_in(landing* where) { landing_ = where; }

 private:
  enum class step {
    more,
    blocked,
    gone,
    in_pieces,  ///< what is next has not come whole, or has no room to land in
  };
  step read_some(std::byte* to, std::size_t bytes, std::size_t& read);
  step land();
  void take_descriptors(const void* control);
  bool has_room_for(std::size_t body_bytes);
  bool wait_until_writable() const;

  static constexpr int default_patience_ms = 5000;

  descriptor socket_;
  int patience_ms_ = default_patience_ms;
  landing* landing_ = nullptr;
  message partial_;
  std::size_t header_bytes_ = 0;  ///< of the message under way
  std::size_t body_bytes_ = 0;    ///< the same
};

}  // namespace freehca::vfio_user
