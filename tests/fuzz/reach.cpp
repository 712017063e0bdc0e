// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "reach.hpp"

#include <bitset>
#include <cstdio>

#include "run.hpp"

namespace freehca::fuzz {

namespace {

// No memory of an arena: the record outlives the machines.
constexpr std::size_t opcodes = 0x1000, bytes = 256;
std::bitset<opcodes> commands;
std::bitset<bytes> events, requests, completions, statuses, received;

template <class Set, class Value>
void add(Set& to, Value value) {
  to.set(static_cast<std::size_t>(value) % to.size());
}

template <class Set>
void print(const Set& all, const char* what) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all.test(i)) std::printf("met %s 0x%zx\n", what, i);
}

}  // namespace

namespace reach {

model::options::lasting_judges recorder() {
  return {.commands =
              [](layouts::opcode o, std::uint32_t) {
                add(commands, o);
                return model::command_verdict{};
              },
          .events =
              [](layouts::event_type t) {
                add(events, t);
                return model::event_fate::deliver;
              },
          .requests =
              [](layouts::wqe_opcode o) {
                add(requests, o);
                return true;
              }};
}

void completion(const queues::work_completion& w) {
  add(completions, w.opcode);
  add(statuses, w.status);
  using queues::completion_status;
  if (!w.ok() && w.status != completion_status::device_reset)
    add(received, layouts::cqe_opcode::error);
  if (w.ok() && w.is_receive()) add(received, w.get<&layouts::cqe_rows::opcode>());
}

void completion(layouts::cqe_opcode opcode) {
  add(received, opcode);
}

}  // namespace reach

void print_reach() {
  print(commands, "opcode");
  print(events, "event_type");
  print(requests, "wqe_opcode");
  print(completions, "work_opcode");
  print(statuses, "completion_status");
  print(received, "cqe_opcode");
}

}  // namespace freehca::fuzz
