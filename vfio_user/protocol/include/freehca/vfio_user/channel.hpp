// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sys/socket.h>

#include <freehca/vfio_user/descriptor.hpp>
#include <freehca/vfio_user/messages.hpp>

namespace freehca::vfio_user {

/// The greatest number of data bytes in region_read and similar messages, in both directions.
inline constexpr std::uint32_t greatest_data = 1u << 20;
/// The greatest size of a body: the greatest data, and the structure before it.
inline constexpr std::uint32_t greatest_body = greatest_data + 64;
/// The greatest number of descriptors in one message. QEMU's client refuses a server that announces
/// more than 16 (its hw/vfio-user/proxy.c).
inline constexpr unsigned greatest_descriptors = 16;

struct message {
  header head{};
  std::vector<std::byte> body;
  std::vector<descriptor> descriptors;
  /// The body was longer than greatest_body, and was discarded. The next message can be received.
  bool too_long = false;
  /// There were more descriptors than greatest_descriptors. All were closed.
  bool too_many_descriptors = false;
  /// There was no memory for the body or for the descriptors. The body was discarded, and the
  /// descriptors were closed.
  bool no_memory = false;
};

enum class arrival {
  nothing,  ///< no whole message yet
  message,
  closed,  ///< the other end has closed the connection
  /// The size in the header is smaller than the header, so the beginning of the next message is not
  /// known. `head` of the message has the header.
  out_of_step,
};

/// The place into which short messages are received, before they are processed. If it is in memory
/// that outlives the process, it shows the message that a killed process had in hand. Without a
/// message `head.bytes` is 0.
struct landing {
  header head;
  std::array<std::byte, 8192> body;
  /// A message is being received, or a reply sent, in more than one call. Another process cannot
  /// continue in the middle of it.
  bool in_pieces;
  /// The reply to the message. The kernel writes the count of sent bytes (msg_len) in the call that
  /// sends them, so that the count is right even if the process is killed in that call. The
  /// pointers are those of the sending process.
  mmsghdr reply;
  std::uint32_t reply_bytes;

  bool holds_message() const { return head.bytes != 0; }
  /// The whole reply was sent. The process may have been killed before it cleared the place.
  bool is_answered() const { return reply.msg_len != 0 && reply.msg_len == reply_bytes; }
  /// A part of the message was received, or of its reply sent.
  bool is_cut() const { return in_pieces || (reply.msg_len != 0 && !is_answered()); }
  /// Clears the place. Work before this call is not reordered after it.
  void clear() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    head.bytes = 0;
    in_pieces = false;
    reply.msg_len = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
};
static_assert(offsetof(landing, body) == sizeof(header));

/// One end of a connection: messages with descriptors over a stream socket. receive() never waits.
/// send() waits until the other end has room, for a limited time.
class channel {
 public:
  channel() = default;
  explicit channel(descriptor socket);

  bool open() const { return socket_.open(); }
  int socket() const { return socket_.get(); }
  void close();

  /// Receives the bytes that have arrived, up to the end of the next message.
  arrival receive(message& to);

  /// Sends header, first part and second part as one message, with `head.bytes` filled in. Returns
  /// false if the other end is gone or has no room for too long.
  bool send(header head, std::span<const std::byte> first = {},
            std::span<const std::byte> second = {}, std::span<const int> descriptors = {});

  /// Whether a part of the next message was received.
  bool in_message() const { return header_bytes_ != 0; }

  void set_patience(int milliseconds) { patience_ms_ = milliseconds; }
  /// Sets the place for short messages. It must exist as long as the channel is used. The caller
  /// clears it when a message is done.
  void land_in(landing* where) { landing_ = where; }

 private:
  enum class step {
    more,
    blocked,
    gone,
    in_pieces,  ///< the next message has not arrived completely, or is too long
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
  std::size_t header_bytes_ = 0;  ///< received bytes of the message under way
  std::size_t body_bytes_ = 0;    ///< the same
};

}  // namespace freehca::vfio_user
