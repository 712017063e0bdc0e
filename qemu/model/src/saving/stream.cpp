// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "saving/stream.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <freehca/packets/crc.hpp>

#include "saving/transfer.hpp"

namespace freehca::model::saving {

namespace {

constexpr std::string_view mark = "freehca state\n";
constexpr packets::crc_tables<std::uint32_t> tables =
    packets::make_crc_tables<std::uint32_t>(0xedb88320);  // of IEEE 802.3
/// Ends the list of sections.
constexpr std::uint8_t no_name = 0;

std::uint32_t checksum(std::span<const std::byte> of) {
  return ~packets::advance_crc(tables, ~std::uint32_t{0}, of);
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// The header of a section, up to its bytes.
struct section_header {
  std::uint8_t name_bytes = no_name;
  std::string name;
  std::uint64_t bytes = 0;

  template <class Archive>
  void transfer_state(Archive& archive) {
    transfer(archive, name_bytes);
    if (name_bytes == no_name) return;
    if constexpr (Archive::loads)
      if (!archive.has(name_bytes)) return;
    name.resize(name_bytes);
    archive.bytes(name.data(), name_bytes);
    transfer(archive, bytes);
  }
};

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}
template <class Value>
void append_value(std::vector<std::byte>& to, Value value) {
  writer w;
  transfer(w, value);
  append(to, w.written());
}

}  // namespace

stream_writer::stream_writer() {
  append(written_, bytes_of(mark));
  append_value(written_, std::uint32_t{newest_version});
}

void stream_writer::add(const section& s) {
  const std::size_t began = written_.size();
  append_value(written_, section_header{static_cast<std::uint8_t>(s.name.size()),
                                        std::string(s.name), s.bytes.size()});
  append(written_, s.bytes);
  append_value(written_, checksum(std::span(written_).subspan(began)));
}

std::vector<std::byte> stream_writer::finish() && {
  append_value(written_, no_name);
  return std::move(written_);
}

parsed_stream parse_stream(std::span<const std::byte> from) {
  parsed_stream parsed;
  const auto refuse = [&parsed](std::string why) {
    parsed = {};
    parsed.refusal = std::move(why);
    return parsed;
  };
  const auto marked = bytes_of(mark);
  if (from.size() < marked.size() || !std::equal(marked.begin(), marked.end(), from.begin()))
    return refuse("it is no state of an adapter: it does not begin with its mark");
  reader r("header", newest_version, from.subspan(marked.size()));
  std::uint32_t version = 0;
  transfer(r, version);
  if (r.ok() && (version == 0 || version > newest_version))
    return refuse("version " + std::to_string(version) + "; this build reads versions 1 to " +
                  std::to_string(newest_version));
  while (r.ok()) {
    const auto rest = from.last(r.left());
    section_header header;
    transfer(r, header);
    if (!r.ok()) break;
    if (header.name_bytes == no_name) {
      if (r.left() != 0) return refuse(std::to_string(r.left()) + " bytes follow its end");
      parsed.version = version;
      return parsed;
    }
    if (!r.has(header.bytes)) break;
    const std::size_t before = rest.size() - r.left();
    const auto covered = rest.first(before + static_cast<std::size_t>(header.bytes));
    r.skip(covered.size() - before);
    std::uint32_t written = 0;
    transfer(r, written);
    if (r.ok() && written != checksum(covered))
      return refuse("section " + header.name + " is damaged: its checksum differs");
    const auto* name = reinterpret_cast<const char*>(rest.data()) + 1;
    parsed.sections.push_back({{name, header.name_bytes}, covered.subspan(before)});
  }
  return refuse("it is cut: " + r.refusal());
}

}  // namespace freehca::model::saving
