// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The server of freehca-device, and a client that says anything. Its process may die when the
// client has said it, with anything in hand, and another one goes on. Afterwards nothing of the
// client is left, and the next one is served.
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

/// Who keeps the client, without a process of its own.
struct client_keeper {
  client_keeper() {
    check(state != nullptr);
    *state = {};
  }
  server::keeper_side side() {
    link = connection();
    return {std::move(link.hostile), state};
  }
  void take_records() {
    message one;
    while (link.honest.receive(one) == arrival::message) client.take(std::move(one));
  }
  static inline keeper::shared_state* const state = keeper::make_shared_state();
  connection link;
  keeper::kept_client client;
};

struct served {
  explicit served(client_keeper& keeper) : side(keeper.side()) {
    check(finish(how).empty());
    requests.connect(function, memory, side);
    check(function.begin().empty());
  }
  void work() {
    for (unsigned i = 0; i < most_rounds && requests.work(); ++i)
      if (function.deadline() <= server::now_ns()) function.run_turn();
  }
  void end() {
    requests.end();
    check(memory.count() == 0);
  }
  server::settings how;
  server::keeper_side side;
  server::session requests;
  server::client_memory memory{requests};
  server::adapter_function function{how, memory};
};

void hear(served& s, connection& with) {
  s.requests.begin(std::move(with.honest));
  s.work();
}

// What the process had in hand when it died: anything.
void leave_in_hand(input& from, keeper::shared_state& state) {
  state.request_is_kept = from.byte() % 2 != 0;
  header& head = state.request.head;
  head = {from.byte(), from.byte(), 0, 0, 0};
  unsigned at = 0;
  for (const unsigned most = from.byte(); at < most && !from.empty(); ++at)
    state.request.body[at] = static_cast<std::byte>(from.byte());
  head.bytes = from.byte() % 16 == 0 ? from.byte() * 0x01010101u
                                     : static_cast<std::uint32_t>(sizeof head) + at;
}

void die_and_go_on(const keeper::shared_state& in_hand, client_keeper& keeper) {
  keeper.take_records();
  keeper.state->request = in_hand.request;
  keeper.state->request_is_kept = in_hand.request_is_kept;
  if (!keeper.client.can_go_on()) keeper.client.forget();
  served next(keeper);
  if (keeper.client.there() && next.requests.resume(keeper.client)) next.work();
  next.end();
}

}  // namespace

void try_input(input from) {
  static const bool guarded = (server::guard_copies(), true);
  check(guarded);
  client_keeper keeper;
  served s(keeper);
  connection first;
  said client(first.hostile.get());
  const unsigned kind = from.byte();
  const bool dies = kind / 8 % 4 == 3;
  static keeper::shared_state in_hand;
  in_hand = {};
  if (dies) leave_in_hand(from, in_hand);
  if (kind % 8 != 0)
    client.message({1, static_cast<std::uint16_t>(command::version), 0, 0, 0}, write_terms({}));
  // The server begins to number its requests anew with each of its processes.
  std::uint16_t asked = first_asked;
  for (unsigned i = 0; i < most_messages && !from.empty(); ++i) client.message_of(from, asked++);
  shutdown(first.hostile.get(), SHUT_WR);
  hear(s, first);
  if (dies) return die_and_go_on(in_hand, keeper);
  s.end();

  connection next;
  said honest(next.hostile.get());
  honest.message({1, static_cast<std::uint16_t>(command::version), 0, 0, 0}, write_terms({}));
  const region_access identity{0, configuration_region, 4};
  honest.message({2, static_cast<std::uint16_t>(command::region_read), 0, 0, 0},
                 bytes_of(identity));
  shutdown(next.hostile.get(), SHUT_WR);
  channel answers(std::move(next.hostile));
  hear(s, next);
  s.end();
  message m;
  check(answers.receive(m) == arrival::message && m.head.id == 1);
  check(answers.receive(m) == arrival::message && m.head.id == 2);
  check((m.head.flags & flag_error) == 0 && m.body.size() == sizeof identity + 4);
  std::uint32_t vendor_and_device = 0;
  std::memcpy(&vendor_and_device, m.body.data() + sizeof identity, sizeof vendor_and_device);
  check(vendor_and_device == 0x100715b3);
}

}  // namespace freehca::fuzz
