// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "saving/fields.hpp"

namespace freehca::model {

/// Counts what happens at queue pairs, for their ports and together.
struct counter_by_port {
  std::uint64_t all = 0;
  std::array<std::uint64_t, 2> of_port{};
  /// Ports count from 1.
  void count(unsigned port) {
    ++all;
    if (port >= 1 && port <= of_port.size()) ++of_port[port - 1];
  }

  using saved = saving::fields<&counter_by_port::all, &counter_by_port::of_port>;
};

/// The counters of one adapter, by name. A part registers its own at construction and keeps the
/// storage; registered counters live as long as the adapter and survive resets.
class counter_registry {
 public:
  using reader = std::function<std::uint64_t()>;

  /// A counter that is computed when somebody looks. Those of one name are told as their sum: a VPI
  /// port counts as either kind.
  void add(std::string name, reader read) {
    for (entry& e : entries_) {
      if (e.name != name) continue;
      e.read = [first = std::move(e.read), second = std::move(read)] { return first() + second(); };
      return;
    }
    entries_.push_back({std::move(name), std::move(read)});
  }
  /// A counter that stands in `value`, which must outlive the registry's last use.
  void add(std::string name, const std::uint64_t& value) {
    add(std::move(name), reader{[&value] { return value; }});
  }

  /// As `name`, and for each port `name`_port1, `name`_port2.
  void add(const std::string& name, const counter_by_port& value) {
    add(name, value.all);
    for (unsigned i = 0; i < value.of_port.size(); ++i)
      add(name + "_port" + std::to_string(i + 1), value.of_port[i]);
  }

  /// The counter of that name; 0 where nobody counts it.
  std::uint64_t value_of(std::string_view name) const {
    for (const entry& e : entries_)
      if (e.name == name) return e.read();
    return 0;
  }

  std::size_t size() const { return entries_.size(); }
  const char* name(std::size_t index) const { return entries_[index].name.c_str(); }
  std::uint64_t value(std::size_t index) const { return entries_[index].read(); }

 private:
  struct entry {
    std::string name;
    reader read;
  };
  std::deque<entry> entries_;  // a deque, so that names stay where they are
};

}  // namespace freehca::model
