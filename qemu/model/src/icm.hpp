// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include <freehca/layouts/layout.hpp>

#include "adapter.hpp"

namespace freehca::model {

/// The memory that the host lent: firmware area, auxiliary ICM, and the ICM address space in which the
/// context tables live. Contexts stand in host memory, where hardware keeps them: nothing is cached here.
class icm {
 public:
  explicit icm(adapter& a);

  /// Reads or writes ICM at virtual address `at`. False when a page is not mapped or the bus refuses; the
  /// caller reports that as hardware does.
  bool read(std::uint64_t at, void* to, std::size_t bytes);
  bool write(std::uint64_t at, const void* from, std::size_t bytes);
  bool mapped(std::uint64_t at, std::size_t bytes) const;

  template <class T>
  std::optional<layouts::image<T>> load(std::uint64_t at) {
    layouts::image<T> i;
    if (!read(at, i.data(), i.size())) return std::nullopt;
    return i;
  }
  template <class T>
  bool store(std::uint64_t at, const layouts::image<T>& i) {
    return write(at, i.data(), i.size());
  }

  /// Forgets everything lent (reset).
  void clear();

  std::uint64_t pages_mapped() const { return pages_.size(); }
  std::uint64_t firmware_pages() const { return firmware_pages_; }
  std::uint64_t auxiliary_pages() const { return auxiliary_pages_; }

 private:
  adapter& a_;
  std::unordered_map<std::uint64_t, std::uint64_t> pages_;  ///< ICM page number to bus address
  std::uint64_t firmware_pages_ = 0, auxiliary_pages_ = 0;
  bool firmware_running_ = false;
};

}  // namespace freehca::model
