// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "product_data.hpp"

#include <linux/pci_regs.h>

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace freehca::device_server {
namespace {

constexpr char tag_name = '\x82', tag_read_only = '\x90', tag_read_write = '\x91', tag_end = '\x78';
constexpr unsigned field_head = 3, page = 256;
// Free bytes in the only read-write area of a CX-2.
constexpr unsigned connectx2_free = 109;

std::string field(std::string_view keyword, std::string_view text, unsigned width) {
  std::string one(keyword);
  one += static_cast<char>(width);
  one += text;
  one.append(width - text.size(), ' ');  // texts have the widths of the captures
  return one;
}

std::string free_bytes(unsigned count) {
  return "RW" + std::string(1, static_cast<char>(count)) + std::string(count, '\0');
}

std::string tagged(char tag, const std::string& contents) {
  const auto low = static_cast<char>(contents.size()),
             high = static_cast<char>(contents.size() >> 8);
  return std::string{tag, low, high} + contents;
}

char checksum(std::string_view all) {
  unsigned sum = 0;
  for (const char c : all) sum += static_cast<unsigned char>(c);
  return static_cast<char>(-static_cast<int>(sum));
}

}  // namespace

product_data::product_data(const identity& card, unsigned ports, std::uint64_t node_guid) {
  const unsigned i = ports - 1;
  std::string all = tagged(tag_name, std::string(card.product_name[i]));
  // The form is that of the captures. No source for the number: chosen.
  const std::string serial = fmt::format("MT1604X{:05}", node_guid % 100000);
  std::string fixed = field("PN", card.part_number[i], 21) +
                      field("EC", card.engineering_change[i], 2) + field("SN", serial, 24) +
                      field("V0", card.link_text, 16) + field("RV", std::string(1, '\0'), 1);
  all += tagged(tag_read_only, fixed);
  all.back() = checksum(all);

  const std::size_t area = all.size();
  std::string open = field("V1", "N/A", 6) + field("YA", "N/A", 24);
  first_writable_ = static_cast<unsigned>(area + field_head);
  if (card.gen3) {
    // One field for each 256 bytes of the whole. The last field leaves one byte for the end tag.
    const auto used = [&] { return static_cast<unsigned>(area + field_head + open.size()); };
    open += free_bytes(page - used() - field_head);
    while (used() < bytes - page) open += free_bytes(page - field_head);
    open += free_bytes(page - field_head - 1);
  } else {
    open += free_bytes(connectx2_free);
  }
  all += tagged(tag_read_write, open);
  all += tag_end;
  for (std::size_t at = 0; at < all.size() && at < bytes; ++at)
    data_[at] = static_cast<std::uint8_t>(all[at]);
}

// If the flag is clear, the transfer is a read, which sets the flag at its end. If the flag is set,
// it is a write, which clears the flag at its end.
void product_data::address_written(configuration_space& space) {
  const std::uint32_t command = space.read(vpd_at + PCI_VPD_ADDR, 2);
  const unsigned address = command & PCI_VPD_ADDR_MASK & ~3u;
  const bool inside = address < bytes;
  if ((command & PCI_VPD_ADDR_F) == 0) {
    std::uint32_t value = 0;
    for (unsigned i = 0; inside && i < 4; ++i)
      value |= std::uint32_t{data_[address + i]} << (8 * i);
    space.set(vpd_at + PCI_VPD_DATA, value, 4);
  } else if (inside && address >= first_writable_ && address + 4 < bytes) {
    const std::uint32_t value = space.read(vpd_at + PCI_VPD_DATA, 4);
    for (unsigned i = 0; i < 4; ++i) data_[address + i] = static_cast<std::uint8_t>(value >> 8 * i);
  }
  space.set(vpd_at + PCI_VPD_ADDR, command ^ PCI_VPD_ADDR_F, 2);
}

}  // namespace freehca::device_server
