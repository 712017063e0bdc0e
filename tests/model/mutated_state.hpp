// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Streams of state whose contents are wrong and whose checksums are right.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "saving/stream.hpp"

namespace freehca::model::test {

/// Makes streams that differ from a saved one in some bytes of the sections' contents.
class state_mutator {
 public:
  state_mutator(std::span<const std::byte> saved, std::uint64_t seed) : engine_(seed) {
    for (const saving::section& s : saving::parse_stream(saved).sections) {
      sections_.push_back({std::string(s.name), {s.bytes.begin(), s.bytes.end()}});
      weight_ += weight(s.bytes.size());
    }
  }

  std::uint64_t random() { return engine_(); }
  /// Less than `bound`.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }

  std::vector<std::byte> next() {
    changed_.clear();
    std::vector<section> mutant = sections_;
    for (std::size_t changes = below(4) == 0 ? 1 + below(6) : 1; changes != 0; --changes)
      change(mutant);
    saving::stream_writer to;
    for (const section& s : mutant) to.add({s.name, s.bytes});
    return std::move(to).finish();
  }
  /// What next() changed, as "SECTION+OFFSET".
  const std::string& changed() const { return changed_; }

 private:
  struct section {
    std::string name;
    std::vector<std::byte> bytes;
  };

  /// Of a long section most bytes are text, or entries that are like the ones before.
  static std::size_t weight(std::size_t bytes) { return std::min<std::size_t>(bytes, 4096); }
  /// In one half of the changes each section is as likely as any other.
  section& drawn_section(std::vector<section>& of) {
    if (below(2) == 0) return of[below(of.size())];
    std::size_t at = below(weight_);
    for (section& s : of) {
      if (at < weight(s.bytes.size())) return s;
      at -= weight(s.bytes.size());
    }
    return of.back();
  }
  /// Long runs of zeros are counters and empty entries.
  std::size_t drawn_place(const std::vector<std::byte>& bytes) {
    std::size_t at = below(bytes.size());
    const auto is_dull = [&bytes](std::size_t place) {
      const std::size_t begin = place < 8 ? 0 : place - 8;
      const std::size_t end = std::min(bytes.size(), place + 8);
      return std::all_of(bytes.data() + begin, bytes.data() + end,
                         [](std::byte b) { return b == std::byte{0}; });
    };
    for (unsigned tries = 0; tries < 8 && is_dull(at); ++tries) at = below(bytes.size());
    return at;
  }
  void change(std::vector<section>& of) {
    section& s = drawn_section(of);
    if (s.bytes.empty()) return;
    const std::size_t at = drawn_place(s.bytes);
    const std::size_t room = s.bytes.size() - at;
    std::byte* const to = s.bytes.data() + at;
    changed_ += " " + s.name + "+" + std::to_string(at);
    switch (below(9)) {
      case 0:
        *to ^= std::byte{0xff};
        break;
      case 1:
        *to = std::byte{0xff};
        break;
      case 2:
        *to = std::byte{0};
        break;
      case 3:
        *to = static_cast<std::byte>(below(8));
        break;
      case 4:
        *to = static_cast<std::byte>(random());
        break;
      case 5:  // A number of the wrong size.
        std::fill_n(to, std::min<std::size_t>(room, std::size_t{1} << below(4)),
                    below(2) == 0 ? std::byte{0} : std::byte{0xff});
        break;
      case 6: {  // Bytes of another place of the section.
        const std::size_t count = std::min<std::size_t>(room, 1 + below(16));
        const std::vector<std::byte> before = s.bytes;
        std::copy_n(before.data() + below(before.size() - count + 1), count, to);
        break;
      }
      default:
        *to ^= static_cast<std::byte>(1u << below(8));
    }
  }

  std::mt19937_64 engine_;
  std::vector<section> sections_;
  std::size_t weight_ = 0;
  std::string changed_;
};

}  // namespace freehca::model::test
