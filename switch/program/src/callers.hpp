// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <poll.h>

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <freehca/wires/hello_options.hpp>
#include <freehca/wires/stream_wire.hpp>

namespace freehca::switch_program {

/// A port, as far as a caller's choice needs it.
struct port_use {
  bool in_use = false;
  std::string name;  ///< of its last peer, or ""
};

/// The port for a caller, from 1 on; 0: there is none. A name gets the port that it had, also while
/// that is in use. Others get the lowest free port of those that no name had, or else of all.
/// `earlier` callers have connected before and have no port yet: as many ports are left to them.
unsigned choose_port(std::span<const port_use> ports, const std::string& name, unsigned earlier);

/// The connections to --listen that have no port yet, in the order in which they came: their hello
/// is not finished, or there is no port for them.
class callers {
 public:
  static constexpr std::size_t most = 64;
  using list = std::list<std::unique_ptr<wires::stream_wire>>;

  void set_options(wires::hello_options options);
  const wires::hello_options& options() const { return options_; }

  /// Whether the next connection would find room.
  bool have_room() const;
  /// Accepts a connection. If there are too many, the oldest that has not finished its hello is
  /// dropped.
  void accept_from(int listener, std::uint64_t now);
  /// Adds one entry for each caller.
  void watch(std::vector<pollfd>& to) const;
  std::uint64_t deadline() const;
  /// Continues each hello. `events` has what watch() asked for; callers that came later are not in
  /// it. Drops those that are refused or have left.
  void work(std::span<const pollfd> events, std::uint64_t now, wires::wire_reader& to);

  list& all() { return all_; }

 private:
  wires::hello_options options_;
  list all_;
};

}  // namespace freehca::switch_program
