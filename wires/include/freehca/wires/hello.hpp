// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <freehca/wires/hello_options.hpp>

namespace freehca::wires {

/// Which end of a stream connected, and which accepted.
enum class hello_role : std::uint8_t { caller = 1, listener = 2 };

/// The beginning of one connection of a stream wire: bytes in, frames out, with the caller's clock
/// and random numbers. It is the same for a wire with and without a secret:
/// - With a secret both ends send a greeting with a nonce. The caller then proves that it has the
///   secret, and the listener does so when it has checked the caller's proof. No packet passes
///   before.
/// - Without a secret an end that has a name sends a greeting. The first frame that arrives is
///   examined: a greeting is taken out, and any other frame is the first packet.
class hello {
 public:
  using nonce = std::array<std::byte, 32>;
  using frame = std::vector<std::byte>;

  /// The time in which a peer must prove that it has the secret.
  static constexpr std::uint64_t silence_ns = 5'000'000'000;
  /// The time that hello_options::waits_for_name waits.
  static constexpr std::uint64_t first_frame_ns = 500'000'000;
  /// The length of each frame of a hello.
  static constexpr std::size_t frame_bytes = 128;
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  hello(const hello_options& options, hello_role role, const nonce& own, std::uint64_t now);

  /// Continues behind the hello of another process. `examines`: as its examines() was.
  hello(const hello_options& options, hello_role role, bool examines);

  /// Examines the beginning of the bytes that have arrived: frames with their lengths. Returns how
  /// many of the bytes belong to the hello. The caller drops those, and calls again with more bytes
  /// until examines() is false.
  std::size_t arrived(std::span<const std::byte> bytes);
  /// The next frames to send, without their lengths.
  std::vector<frame> take_frames();
  /// Applies the time limit.
  void run(std::uint64_t now);
  std::uint64_t deadline() const { return deadline_; }
  /// The peer has ended the connection.
  void end();

  /// Whether packets may pass.
  bool open() const { return open_ && refusal_.empty(); }
  /// Whether the next bytes to arrive may belong to the hello.
  bool examines() const { return examines_ && refusal_.empty(); }
  /// Why the peer is refused. "" if it is not.
  const std::string& refusal() const { return refusal_; }
  /// The name in the peer's greeting, or "".
  const std::string& peer_name() const { return peer_name_; }

 private:
  using image = std::array<std::byte, frame_bytes>;

  bool has_secret() const { return !secret_.empty(); }
  image make_frame(hello_role role, unsigned kind, const nonce& payload,
                   const std::string& name) const;
  image make_proof(hello_role role) const;
  std::size_t take_frame(const image& bytes);
  void take_greeting(const image& bytes);
  void take_proof(const image& bytes);
  void finish();
  void refuse(std::string why);
  std::string peer_text() const;

  const std::vector<std::byte> secret_;
  const bool needs_name_;
  const hello_role role_;
  const image greeting_;
  image peer_greeting_{};
  bool greeted_ = false;
  bool open_ = false, examines_ = true;
  std::uint64_t deadline_ = never;
  std::string refusal_, peer_name_;
  std::vector<frame> frames_;
};

}  // namespace freehca::wires
