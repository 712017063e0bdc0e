// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "state_stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace freehca::device_server {
namespace {

constexpr std::string_view mark = "freehca device\n";
constexpr std::uint32_t newest_version = 1;
/// The length of a section's name that ends the list of sections.
constexpr std::uint8_t no_name = 0;

// CRC-32 of IEEE 802.3, a byte at a time.
constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    table[byte] = crc;
  }
  return table;
}();

std::uint32_t checksum(std::span<const std::byte> of) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const std::byte b : of)
    crc = crc >> 8 ^ crc_table[(crc ^ std::to_integer<std::uint32_t>(b)) & 0xff];
  return ~crc;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void state_reader::bytes(void* to, std::size_t count) {
  const auto from = part(count);
  if (from.size() == count && count != 0) std::memcpy(to, from.data(), count);
  else if (count != 0) std::memset(to, 0, count);
}

std::span<const std::byte> state_reader::part(std::size_t count) {
  if (count > left_.size()) ok_ = false;
  if (!ok_) return {};
  const auto found = left_.first(count);
  left_ = left_.subspan(count);
  return found;
}

void state_reader::text(std::string& value) {
  std::uint32_t count = 0;
  number(count);
  value = text_of(part(count));
}

std::vector<std::byte> write_state_stream(std::span<const state_section> sections) {
  state_writer all;
  all.bytes(mark.data(), mark.size());
  all.number(newest_version);
  for (const state_section& one : sections) {
    const std::size_t began = all.written().size();
    all.number(static_cast<std::uint8_t>(one.name.size()));
    all.bytes(one.name.data(), one.name.size());
    all.number(std::uint64_t{one.bytes.size()});
    all.bytes(one.bytes.data(), one.bytes.size());
    all.number(checksum(std::span(all.written()).subspan(began)));
  }
  all.number(no_name);
  return std::move(all.written());
}

std::string read_state_stream(std::span<const std::byte> from, std::vector<state_section>& to) {
  state_reader all(from);
  const std::string_view begins = text_of(from.first(std::min(from.size(), mark.size())));
  if (begins != mark) return "it is no state of a server: it does not begin with its mark";
  all.part(mark.size());
  std::uint32_t version = 0;
  all.number(version);
  if (all.ok() && (version == 0 || version > newest_version))
    return fmt::format("version {}; this build reads versions 1 to {}", version, newest_version);
  while (all.ok()) {
    const auto rest = from.last(all.left());
    std::uint8_t name_bytes = no_name;
    all.number(name_bytes);
    if (all.ok() && name_bytes == no_name)
      return all.left() == 0 ? "" : fmt::format("{} bytes follow its end", all.left());
    const auto name = all.part(name_bytes);
    std::uint64_t bytes = 0;
    all.number(bytes);
    const auto contents = all.part(static_cast<std::size_t>(bytes));
    const auto covered = rest.first(rest.size() - all.left());
    std::uint32_t written = 0;
    all.number(written);
    if (!all.ok()) break;
    if (written != checksum(covered))
      return fmt::format("section {} is damaged: its checksum differs", text_of(name));
    to.push_back({text_of(name), contents});
  }
  return "it is cut: its end is missing";
}

}  // namespace freehca::device_server
