// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace freehca::wires {

/// The options of a stream wire for its hello (docs/decisions/wires-hello.md).
struct hello_options {
  static constexpr std::size_t longest_name = 63;
  static constexpr std::size_t shortest_secret = 16, longest_secret = 4096;

  std::string name;               ///< name=NAME; "" if not given
  std::vector<std::byte> secret;  ///< the bytes of secret=FILE; empty if there is no secret
  bool without_secret = false;    ///< secret=none was given
  /// No packet passes before the first frame of the peer, or a pause, has shown whether the peer
  /// has a name. Only for a wire without a secret.
  bool waits_for_name = false;
  /// A peer without a name is refused. Without a secret, its first frame may come at any time.
  bool needs_name = false;
};

/// Parses ADDRESS[,secret=FILE][,name=NAME], and reads the file. Other text behind a comma is part
/// of the address. Returns "", or the reason for a refusal.
std::string read_hello_options(const std::string& text, std::string& address, hello_options& to);

/// Whether `text` may be the name of a wire: 1 to 63 letters, digits and `-_.:`.
bool is_wire_name(const std::string& text);

/// Whether the address is that of a TCP socket, and there is neither a secret nor secret=none.
bool lacks_secret(const std::string& address, const hello_options& options);
/// The line that a program then prints at its start. `listens`: the wire is the end that listens.
std::string no_secret_warning(const std::string& address, bool listens);

}  // namespace freehca::wires
