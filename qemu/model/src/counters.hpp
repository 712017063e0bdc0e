// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace freehca::model {

/// The counters of one adapter, by name. A part registers its own at construction and keeps the storage;
/// registered counters live as long as the adapter and survive resets.
class counter_registry {
 public:
  using reader = std::function<std::uint64_t()>;

  /// A counter that is computed when somebody looks.
  void add(std::string name, reader read) {
    entries_.push_back({std::move(name), std::move(read)});
  }
  /// A counter that stands in `value`, which must outlive the registry's last use.
  void add(std::string name, const std::uint64_t& value) {
    add(std::move(name), reader{[&value] { return value; }});
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
