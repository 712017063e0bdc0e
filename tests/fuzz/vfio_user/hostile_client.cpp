// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The server of freehca-device, and a client that says anything. Afterwards nothing of the client
// is left, and the next one is served.
#include <freehca/vfio_user/negotiation.hpp>

#include "adapter_function.hpp"
#include "client_memory.hpp"
#include "conversation.hpp"
#include "guarded_copy.hpp"
#include "session.hpp"
#include "setting_rows.hpp"

namespace freehca::fuzz {

using namespace vfio_user;
namespace server = device_server;

namespace {

constexpr unsigned most_messages = 64, most_rounds = 200;
constexpr std::uint16_t first_asked = 0;  // the number of the server's own first request

void check(bool holds) {
  if (!holds) __builtin_trap();
}

struct served {
  served() {
    check(finish(how).empty());
    requests.connect(function, memory);
    check(function.begin().empty());
  }
  server::settings how;
  server::session requests;
  server::client_memory memory{requests};
  server::adapter_function function{how, memory};
};

void hear(served& s, connection& with) {
  s.requests.begin(std::move(with.honest));
  for (unsigned i = 0; i < most_rounds && s.requests.work(); ++i)
    if (s.function.deadline() <= server::now_ns()) s.function.run_turn();
  s.requests.end();
  check(s.memory.count() == 0);
}

}  // namespace

void converse(input from) {
  static const bool guarded = (server::guard_copies(), true);
  check(guarded);
  served s;
  connection first;
  said client(first.hostile.get());
  if (from.byte() % 8 != 0)
    client.message({1, static_cast<std::uint16_t>(command::version), 0, 0, 0}, write_terms({}));
  // The server begins to number its requests anew with each of its processes.
  std::uint16_t asked = first_asked;
  for (unsigned i = 0; i < most_messages && !from.empty(); ++i) client.message_of(from, asked++);
  shutdown(first.hostile.get(), SHUT_WR);
  hear(s, first);

  connection next;
  said honest(next.hostile.get());
  honest.message({1, static_cast<std::uint16_t>(command::version), 0, 0, 0}, write_terms({}));
  const region_access identity{0, configuration_region, 4};
  honest.message({2, static_cast<std::uint16_t>(command::region_read), 0, 0, 0},
                 bytes_of(identity));
  shutdown(next.hostile.get(), SHUT_WR);
  channel answers(std::move(next.hostile));
  hear(s, next);
  message m;
  check(answers.receive(m) == arrival::message && m.head.id == 1);
  check(answers.receive(m) == arrival::message && m.head.id == 2);
  check((m.head.flags & flag_error) == 0 && m.body.size() == sizeof identity + 4);
  std::uint32_t vendor_and_device = 0;
  std::memcpy(&vendor_and_device, m.body.data() + sizeof identity, sizeof vendor_and_device);
  check(vendor_and_device == 0x100715b3);
}

}  // namespace freehca::fuzz
