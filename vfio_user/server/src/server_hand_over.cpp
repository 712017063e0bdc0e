// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The server's part of an upgrade: it hands over, or takes over.
#include <poll.h>

#include <utility>

#include <fmt/format.h>

#include "report.hpp"
#include "saved_adapter.hpp"
#include "server.hpp"
#include "without_exceptions.hpp"

namespace freehca::device_server {

using keeper::record;

namespace {

constexpr int patience_ms = 1000;

}  // namespace

bool server::finish_messages() {
  const std::uint64_t deadline = now_ns() + std::uint64_t{patience_ms} * 1'000'000;
  while (session_.serving() && !session_.quiet() && now_ns() < deadline) {
    pollfd one{session_.socket(), POLLIN, 0};
    if (!session_.has_work()) poll(&one, 1, patience_ms);
    serve_client();
  }
  return !session_.serving() || session_.quiet();
}

// While this process waits for the answer, it touches neither the client nor a cable.
std::string server::hand_over(std::string& version) {
  if (!keeper_.there())
    return "no process keeps the client: the server was started without --restarts on, or the "
           "keeper is gone";
  if (!finish_messages()) return "the client has sent a part of a message, and not the rest";
  handed_adapter state;
  served_adapter adapter{how_, function_};
  if (std::string why = write_handed_adapter(adapter, state); !why.empty()) return why;
  std::vector<int> files{state.state.get()};
  for (const vfio_user::descriptor& one : state.wires) files.push_back(one.get());
  keeper_.tell(record::state, files);
  vfio_user::message answer;
  if (!keeper_.wait_for_record(answer)) return "the keeper is gone";
  if (static_cast<record>(answer.head.command) != record::handed_over)
    return keeper::record_text(answer);
  version = keeper::record_text(answer);
  handed_over_ = true;
  return "";
}

std::string server::begin_with(device_server::handed_over& from) {
  handed_wires wires;
  std::vector<std::byte> state;
  std::string why = read_handed_adapter(how_, from.adapter, wires, state);
  if (why.empty()) why = prepare(std::move(from.sockets), &wires);
  if (!why.empty()) return why;
  if (from.client.there() && !session_.take_over(from.client))
    return "the client's memory, interrupts or doorbell pages cannot be taken over";
  served_adapter adapter{how_, function_};
  why = load_adapter(adapter, state);
  if (why.empty()) tell_that_it_is_ready();
  return why;
}

bool server::take_over(device_server::handed_over& from) {
  std::string why;
  if (!without_exceptions([&] { why = begin_with(from); })) why = "no memory";
  if (!why.empty()) {
    report(why);
    keeper_.tell(record::refused, {}, why);
    return false;
  }
  keeper_.tell(record::loaded, {}, "freehca-device " FREEHCA_VERSION);
  vfio_user::message one;
  return keeper_.wait_for_record(one) && static_cast<record>(one.head.command) == record::serve;
}

}  // namespace freehca::device_server
