// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "entry_lists.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/eqe.hpp>

namespace freehca::recording {

using namespace layouts;

namespace {

struct found {
  const record* where = nullptr;
  std::string step;
  std::optional<record> command;  ///< that the event ends
  std::vector<std::byte> data;
};

/// Queue kind, number, and what within it keeps an order.
using stream = std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t>;
using streams = std::map<stream, std::vector<found>>;

std::uint64_t token_of(const std::vector<std::byte>& event) {
  return image<eqe_command>::from_bytes(event.data()).get<&eqe_command::token>();
}

stream stream_of(const record& r, const std::vector<std::byte>& data) {
  if (r.what == "cqe") {
    const auto e = image<cqe>::from_bytes(data.data());
    return {r.what, r.of, e.get<&cqe::qpn>(), e.get<&cqe::is_send>()};
  }
  const auto type = image<eqe>::from_bytes(data.data()).get<&eqe::event_type>();
  const auto kind = static_cast<std::uint64_t>(type);
  if (type == event_type::command_completion) return {r.what, r.of, kind, token_of(data)};
  if (type == event_type::completion)
    return {r.what, r.of, kind,
            image<eqe_completion>::from_bytes(data.data()).get<&eqe_completion::cqn>()};
  if (type == event_type::port_change)
    return {r.what, r.of, kind,
            image<eqe_port_change>::from_bytes(data.data()).get<&eqe_port_change::port>()};
  return {r.what, r.of, kind, 0};
}

streams of_card(const recording& card) {
  streams all;
  std::string step;
  std::map<std::uint64_t, record> commands;
  for (const record& r : card.records) {
    if (r.kind == record_kind::step) step = r.name;
    if (r.kind == record_kind::command) commands[r.token] = r;
    if (r.kind != record_kind::write || (r.what != "eqe" && r.what != "cqe")) continue;
    if (r.data.size() != eqe::bytes) continue;
    found f{&r, step, std::nullopt, r.data};
    if (r.what == "eqe" && image<eqe>::from_bytes(r.data.data()).get<&eqe::event_type>() ==
                               event_type::command_completion)
      if (const auto c = commands.find(token_of(r.data)); c != commands.end())
        f.command = c->second;
    all[stream_of(r, r.data)].push_back(std::move(f));
  }
  return all;
}

/// An entry comes in two writes; the second has the owner bit.
streams of_model(const recording& again, const std::vector<model_write>& writes) {
  constexpr std::size_t tail = 8;
  streams all;
  std::map<std::pair<std::string, std::uint64_t>, std::vector<std::byte>> heads;
  std::size_t n = 0;
  for (const record& r : again.records) {
    if (r.kind != record_kind::write) continue;
    if (n == writes.size()) break;
    const std::vector<std::byte>& data = writes[n++].data;
    if (r.what != "eqe" && r.what != "cqe") continue;
    std::vector<std::byte>& head = heads[{r.what, r.of}];
    if (data.size() != tail) {
      head = data;
      if (data.size() != eqe::bytes) continue;
    } else {
      head.insert(head.end(), data.begin(), data.end());
    }
    if (head.size() == eqe::bytes) all[stream_of(r, head)].push_back({nullptr, "", {}, head});
    head.clear();
  }
  return all;
}

}  // namespace

void compare_entries(const recording& card, const recording& again,
                     const std::vector<model_write>& writes, field_comparison& to) {
  streams one = of_card(card), two = of_model(again, writes);
  for (const auto& [key, unused] : two) one.try_emplace(key);
  for (const auto& [key, recorded] : one) {
    const std::vector<found>& now = two[key];
    for (std::size_t i = 0; i < std::max(recorded.size(), now.size()); ++i) {
      const found* const was = i < recorded.size() ? &recorded[i] : nullptr;
      const found* const is = i < now.size() ? &now[i] : nullptr;
      // Of an entry that the card has not written the place is that of the one before it.
      const found* const place = was != nullptr     ? was
                                 : recorded.empty() ? nullptr
                                                    : &recorded.back();
      to.entry(place == nullptr ? nullptr : place->where, place == nullptr ? "" : place->step,
               std::get<0>(key), std::get<1>(key),
               was != nullptr && was->command ? &*was->command : nullptr,
               was == nullptr ? nullptr : &was->data, is == nullptr ? nullptr : &is->data);
    }
  }
}

}  // namespace freehca::recording
