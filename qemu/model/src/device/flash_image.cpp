// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "device/flash_image.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include <freehca/layouts/flash.hpp>
#include <freehca/layouts/mad.hpp>

#include "basis/identity.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

using bytes = std::vector<std::byte>;

// Chunks of 512 KiB, two of them: chosen. Real images are of about that size.
constexpr unsigned log_chunk = 3;
// No program: the shortest that tools take (mstflint fw_ops.cpp checkBoot2).
constexpr unsigned boot_words = 4;

// Not by insert(): g++ 12 warns at -O3 of a copy past the end of what it inserts into an empty
// vector.
template <class T>
void append(bytes& to, const image<T>& what) {
  const std::size_t at = to.size();
  to.resize(at + T::bytes);
  std::copy_n(what.data(), T::bytes, to.data() + at);
}
void append_word(bytes& to, std::uint32_t word) {
  to.resize(to.size() + 4);
  store_be<std::uint32_t>(to.data() + to.size() - 4, word);
}

std::uint16_t crc_of(const bytes& of, std::size_t from) {
  fs2_crc crc;
  for (; from < of.size(); from += 4) crc.add(load_be<std::uint32_t>(of.data() + from));
  return crc.value();
}

/// What makes the bytes of `word`, whose first is zero, add up to zero.
std::uint64_t sum_for(std::uint32_t word) {
  return (0u - ((word & 0xff) + (word >> 8 & 0xff) + (word >> 16 & 0xff))) & 0xff;
}

void append_tag(bytes& to, fs2_tag_type type, const void* data, std::size_t length) {
  append(to, image<fs2_tag>{}.set<&fs2_tag::type>(type).set<&fs2_tag::length>(length & 0xffffff));
  const auto* from = static_cast<const std::byte*>(data);
  to.insert(to.end(), from, from + length);
}
void append_tag(bytes& to, fs2_tag_type type, std::uint32_t word) {
  std::byte raw[4];
  store_be<std::uint32_t>(raw, word);
  append_tag(to, type, raw, sizeof raw);
}
void append_text(bytes& to, fs2_tag_type type, const char* text, std::size_t room) {
  bytes padded(room);
  std::memcpy(padded.data(), text, std::min(std::strlen(text), room));
  append_tag(to, type, padded.data(), room);
}

bytes info_of(const options& how) {
  const identity& who = identity_of(how.kind);
  bytes all;
  const auto version = image<fs2_firmware_version>{}
                           .set<&fs2_firmware_version::major>(who.firmware_major)
                           .set<&fs2_firmware_version::minor>(who.firmware_minor)
                           .set<&fs2_firmware_version::subminor>(who.firmware_subminor);
  append_tag(all, fs2_tag_type::firmware_version, version.data(), fs2_firmware_version::bytes);
  append_tag(all, fs2_tag_type::device_type, who.device_id);
  append_text(all, fs2_tag_type::psid, who.board_id, fs2_psid_bytes);
  append_text(all, fs2_tag_type::vsd, "", fs2_vsd_bytes);
  append_text(all, fs2_tag_type::product_version, "", fs2_product_version_bytes);
  append_tag(all, fs2_tag_type::vsd_vendor, 0x15b3);  // as QUERY_ADAPTER
  append_tag(all, fs2_tag_type::hardware_ids, who.hardware_id & 0xffff);
  append_tag(all, fs2_tag_type::end, nullptr, 0);
  return all;
}

/// Node, port 1, port 2, system image, then the MACs of the ports; single-port cards reserve all
/// (captures).
bytes guids_of(const options& how) {
  bytes all;
  for (const std::uint64_t one : {how.node_guid, how.node_guid + 1, how.node_guid + 2,
                                  how.node_guid + 3, how.mac, how.mac + 1}) {
    append_word(all, static_cast<std::uint32_t>(one >> 32));
    append_word(all, static_cast<std::uint32_t>(one));
  }
  return all;
}

/// Appends a section with its CRC; the place of its data.
std::size_t append_section(bytes& to, fs2_section_type type, const bytes& data, bool last) {
  const std::size_t start = to.size();
  const std::size_t next = start + fs2_section::bytes + data.size() + 4;
  append(to, image<fs2_section>{}
                 .set<&fs2_section::type>(type)
                 .set<&fs2_section::words>(data.size() / 4)
                 .set<&fs2_section::next>(last ? fs2_last_section : next));
  const std::size_t place = to.size();
  to.insert(to.end(), data.begin(), data.end());
  append_word(to, crc_of(to, start));
  return place;
}

}  // namespace

std::vector<std::byte> make_flash_image(const options& how) {
  bytes all(fs2_header::bytes);
  append(all, image<fs2_boot>{}.set<&fs2_boot::words>(boot_words));
  all.resize(fs2_header::bytes + (boot_words + fs2_boot_frame_words - 1) * 4);
  append_word(all, crc_of(all, fs2_header::bytes));
  const std::size_t guids = append_section(all, fs2_section_type::guids, guids_of(how), false);
  const std::size_t info = append_section(all, fs2_section_type::image_info, info_of(how), true);

  image<fs2_header> head;
  for (unsigned i = 0; i < std::size(fs2_magic); ++i)
    set_element<&fs2_header::magic, std::uint32_t>(head, i, fs2_magic[i]);
  head.set<&fs2_header::revision>(identity_of(how.kind).hardware_id >> 16 & 0xff)
      .set<&fs2_header::image_crc>(0xffff)
      .set<&fs2_header::failsafe>(true)
      .set<&fs2_header::log_chunk>(log_chunk)
      .set<&fs2_header::info_place>(info)
      .set<&fs2_header::image_bytes>(all.size())
      .set<&fs2_header::guids_place>(guids);
  head.set<&fs2_header::failsafe_sum>(sum_for(load_be<std::uint32_t>(head.data() + 0x28)))
      .set<&fs2_header::info_sum>(sum_for(load_be<std::uint32_t>(head.data() + 0x2c)));
  std::copy_n(head.data(), fs2_header::bytes, all.begin());
  head.set<&fs2_header::image_crc>(crc_of(all, 0));
  std::copy_n(head.data(), fs2_header::bytes, all.begin());
  return all;
}

}  // namespace freehca::model
