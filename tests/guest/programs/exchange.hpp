// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two hosts tell each other their addresses over TCP, and when each has come how far.
#pragma once

#include <cstdint>
#include <string>

/// What a peer needs to know of a queue pair and its memory. Hosts of one kind: no byte order of
/// its own.
struct endpoint {
  std::uint32_t qpn = 0, first_psn = 0;
  std::uint16_t lid = 0;
  std::uint32_t rkey = 0;
  std::uint64_t memory = 0;
};

/// A TCP connection. Every failure ends the program with a message.
class exchange {
 public:
  /// To `server`, or where that is empty, from the first that comes.
  exchange(const std::string& server, std::uint16_t port);
  ~exchange();
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  /// Gives ours and takes the peer's.
  endpoint swap(const endpoint& ours);
  /// Waits until the peer says the same.
  void meet();

 private:
  void put(const void* from, std::size_t bytes);
  void get(void* to, std::size_t bytes);
  int socket_ = -1;
};

/// Ends the program: `what`, and what errno says.
[[noreturn]] void fail(const char* what);
