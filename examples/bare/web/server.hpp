// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// An HTTP/1.0 server on lwIP's callbacks (RFC 1945): "/" is a text about the adapter, "/page" is
// 1 MiB of bytes that page_byte() gives. A connection has one request.
#pragma once

#include <cstddef>
#include <cstdint>

#include <lwip/tcp.h>

#include <freehca/hal/status.hpp>
#include <freehca/texts/text.hpp>

namespace freehca::bare::web {

inline constexpr std::size_t page_bytes = std::size_t{1} << 20;
/// Byte i of the page. Tests have the same formula.
constexpr std::byte page_byte(std::size_t i) {
  return static_cast<std::byte>(i * 7 + (i >> 8) * 13 + (i >> 16) * 29);
}

/// Writes the text of "/".
using write_facts = void (*)(void* context, text_writer& to);

class server {
 public:
  struct counters {
    std::uint64_t connections = 0, answers = 0, errors = 0;  ///< errors: answers from 400 on
    std::uint64_t bytes = 0;                                 ///< of the page
    std::uint64_t broken = 0;  ///< connections that ended before their answer did
  };

  server() = default;
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Listens on the port. `page` has page_bytes bytes, which the adapter reads while connections
  /// exist. Errors: driver_error::no_memory (lwIP has no room), ::busy (the port is taken).
  status start(std::uint16_t port, const std::byte* page, write_facts facts, void* context);
  /// Ends all connections, and listens no more.
  void stop();

  const counters& counted() const { return counters_; }

 private:
  static constexpr unsigned most_connections = MEMP_NUM_TCP_PCB;
  /// The bytes of a request that are kept: the request line. Other lines are not read.
  static constexpr std::size_t most_line = 120;
  enum class state : std::uint8_t { unused, reading, sending };

  struct connection {
    server* owner = nullptr;
    tcp_pcb* pcb = nullptr;
    state is = state::unused;
    bool line_ended = false, empty_line = false;
    unsigned idle = 0;  // calls of polled() since something moved
    std::size_t line_length = 0;
    char line[most_line + 1] = {};
    const std::byte* rest = nullptr;  // of the page, not yet queued
    std::size_t rest_bytes = 0;
  };

  static err_t accepted(void* self, tcp_pcb* pcb, err_t error);
  static err_t received(void* connection, tcp_pcb* pcb, pbuf* data, err_t error);
  static err_t acknowledged(void* connection, tcp_pcb* pcb, std::uint16_t bytes);
  static err_t polled(void* connection, tcp_pcb* pcb);
  static void broke(void* connection, err_t error);

  static void attach(connection& c);
  static bool read(connection& c, const char* bytes, std::size_t count);
  static bool copy(connection& c, const text_writer& text);
  bool answer(connection& c);
  void send(connection& c);
  void close(connection& c);
  err_t abort(connection& c);

  tcp_pcb* listener_ = nullptr;
  const std::byte* page_ = nullptr;
  write_facts facts_ = nullptr;
  void* context_ = nullptr;
  counters counters_;
  connection connections_[most_connections];
};

}  // namespace freehca::bare::web
