// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace freehca::model {

/// What the adapter tells about its own doings, one line each.
enum class remark_kind : std::uint8_t {
  command,         ///< a firmware command was taken and went well
  refused,         ///< a firmware command was refused, and why
  work_error,      ///< a work request completed with an error, and why
  packet_dropped,  ///< a packet was dropped or answered with a NAK, and why
  event,           ///< an entry was written to an event queue
  doorbell,        ///< a doorbell was rung
  complaint,       ///< a driver broke a rule, and a real card would have to suffer it silently
};

/// Every kind, by the name that trace events and properties have for it.
inline constexpr std::array<std::string_view, 7> remark_kind_names{
    "command", "refused", "work_error", "packet_dropped", "event", "doorbell", "complaint"};

constexpr std::string_view name_of(remark_kind k) {
  return remark_kind_names[static_cast<std::size_t>(k)];
}

/// Does the line explain why something did not go well? Such remarks are kept by the device, the
/// last remarks_kept of them; the others are told to those alone who listen.
constexpr bool explains(remark_kind k) {
  return k != remark_kind::command && k != remark_kind::event && k != remark_kind::doorbell;
}

/// How many of the remarks that explain something a device keeps.
inline constexpr std::size_t remarks_kept = 100;

/// Packets are dropped as fast as a peer sends them, and a line costs more than a packet does. In
/// each such time the first remarks_kept drops are explained; later ones only if somebody listens
/// (environment::listens()). The counter drops_unexplained counts the others.
inline constexpr std::uint64_t drop_remarks_interval_ns = 100'000'000;

struct remark {
  std::uint64_t number = 0;  ///< counts every kept remark of the device, from 1
  std::uint64_t time = 0;    ///< of the adapter: environment::now() until a state is loaded
  remark_kind kind = remark_kind::complaint;
  const char* rule = "";  ///< the name of the rule that was broken; empty where none was
  std::string text;       ///< one line without a line end, at most 400 bytes
};

}  // namespace freehca::model
