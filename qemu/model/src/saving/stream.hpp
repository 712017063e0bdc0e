// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A stream of state: a header with the version, and sections. A section has a name, the number of
// its bytes, its bytes, and a CRC over all of these.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace freehca::model::saving {

struct section {
  std::string_view name;
  std::span<const std::byte> bytes;
};

/// Writes the header, then sections in the order of add().
class stream_writer {
 public:
  stream_writer();
  void add(const section& s);
  /// Ends the stream and gives its bytes.
  std::vector<std::byte> finish() &&;

 private:
  std::vector<std::byte> written_;
};

/// A stream whose header, lengths and checksums are right.
struct parsed_stream {
  unsigned version = 0;
  std::vector<section> sections;  ///< they point into the parsed bytes
  /// Why the bytes are no such stream; empty: they are. Then nothing else is set.
  std::string refusal;
};
parsed_stream parse_stream(std::span<const std::byte> from);

}  // namespace freehca::model::saving
