// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The flash of the adapters as firmware tools see it: the gateway in BAR 0, and the image "FS2" in
// it.
//
// Source: Mellanox/mstflint 4.21: mflash/mflash_pack_layer.h and mflash_gw.c (gateway),
// mflash/flash_int_defs.h and mflash_common_structs.h (SPI), mlxfwops/lib/flint_base.h,
// fs2_ops.cpp, fs2_ops.h and fw_ops.cpp (image).
#pragma once

#include <cstdint>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// The gateway: a command word, an address, and sixteen bytes of data. Its user holds
/// bar0::flash_semaphore.
namespace flash_gateway {
inline constexpr std::uint32_t command = 0xf0400;
inline constexpr std::uint32_t address = 0xf0404;
inline constexpr std::uint32_t data = 0xf0410;
inline constexpr std::uint32_t data_bytes = 16;
/// A second semaphore, which tools hold while they program (tools_res_mgmt). As the first: a read
/// of 0 takes it.
inline constexpr std::uint32_t programming_semaphore = 0xf03a0;
}  // namespace flash_gateway

/// A write with `busy` starts what the other fields say; the gateway clears it at the end. The
/// bytes of the flash stand in the data words from their most significant byte on.
struct flash_command {
  static constexpr std::size_t bytes = 4;
  as<bool> busy          {0x00, 30, 30, "busy"};
  bits     opcode        {0x00, 23, 16, "opcode"};  ///< spi_opcode
  as<bool> long_address  {0x00, 14, 14, "long_address"};  ///< four bytes, not three
  as<bool> enable        {0x00, 13, 13, "enable"};
  bits     chip          {0x00, 11, 11, "chip"};
  bits     log_data      {0x00, 10,  8, "log_data"};  ///< bytes of the data phase
  as<bool> hold          {0x00,  5,  5, "hold"};  ///< the chip stays selected
  as<bool> data_phase    {0x00,  4,  4, "data_phase"};
  as<bool> address_phase {0x00,  3,  3, "address_phase"};
  as<bool> opcode_phase  {0x00,  2,  2, "opcode_phase"};
  as<bool> read          {0x00,  0,  0, "read"};
};
static_assert(claimed<flash_command>().sound);

enum class spi_opcode : std::uint8_t {
  read = 0x03,
  read_status = 0x05,
  read_identification = 0x9f,
};

/// What read_identification tells: the manufacturer, and in the two bytes that follow the kind and
/// log2 of the size.
struct flash_identification {
  static constexpr std::size_t bytes = 4;
  bits vendor   {0x00, 31, 24, "vendor"};
  bits type     {0x00, 23, 16, "type"};
  bits log_size {0x00, 15,  8, "log_size"};
};

/// A second command register, which firmware tools use (mtcr_ul/mtcr_tools_cif.c): layout `hcr`,
/// with a semaphore that a read of 0 takes and a write of 0 frees.
namespace tools_command {
inline constexpr std::uint32_t semaphore = 0xf03bc;
inline constexpr std::uint32_t base = 0x80780;
inline constexpr std::uint32_t size = 0x1c;
}  // namespace tools_command

/// The version of the firmware that runs: 16 bytes in BAR 0 (fs2_ops.cpp CX3_FW_VER_CR_ADDR,
/// tools_layouts cibfw_layouts.c). The other words tell when it was built.
inline constexpr std::uint32_t running_version_place = 0x1f064;
struct running_version {
  static constexpr std::size_t bytes = 16;
  bits major    {0x00, 31, 16, "major"};
  bits minor    {0x04, 31, 16, "minor"};
  bits subminor {0x04, 15,  0, "subminor"};
};

// The image.

/// The first bytes of an image. Its boot section follows, then a list of sections.
struct fs2_header {
  static constexpr std::size_t bytes = 0x38;
  raw<16> magic           {0x00, "magic"};
  bits    revision        {0x20, 31, 24, "revision"};  ///< of the device
  /// Of all of it; 0xffff stands there meanwhile.
  bits    image_crc       {0x20, 15,  0, "image_crc"};
  /// Makes the bytes of this word add up to 0.
  bits    failsafe_sum    {0x28, 31, 24, "failsafe_sum"};
  /// The flash has room for two images, in chunks.
  as<bool> failsafe       {0x28,  3,  3, "failsafe"};
  bits    log_chunk       {0x28,  2,  0, "log_chunk"};  ///< 64 KiB << n
  bits    info_sum        {0x2c, 31, 24, "info_sum"};  ///< as failsafe_sum
  bits    info_place      {0x2c, 23,  0, "info_place"};
  bits    image_bytes     {0x30, 31,  0, "image_bytes"};
  bits    guids_place     {0x34, 31,  0, "guids_place"};
};
inline constexpr std::uint32_t fs2_magic[4] = {0x4d544657, 0x8cdfd000, 0xdead9270, 0x4154beef};

/// The head of the boot section: `words` more than these two and the two at the end, the last of
/// which has the CRC.
struct fs2_boot {
  static constexpr std::size_t bytes = 8;
  bits words {0x04, 31, 0, "words"};
};
inline constexpr unsigned fs2_boot_frame_words = 4;

enum class fs2_section_type : std::uint32_t { guids = 6, image_info = 10 };

/// The head of a section; after its words a word with the CRC of head and words. next: where the
/// next one stands.
struct fs2_section {
  static constexpr std::size_t bytes = 16;
  as<fs2_section_type> type  {0x00, 31, 0, "type"};
  bits                 words {0x04, 31, 0, "words"};
  bits                 param {0x08, 31, 0, "param"};
  bits                 next  {0x0c, 31, 0, "next"};
};
inline constexpr std::uint32_t fs2_last_section = 0xff000000;

/// The section image_info is a row of tags, each with its bytes.
enum class fs2_tag_type : std::uint8_t {
  firmware_version = 1,
  device_type = 3,
  psid = 4,
  vsd = 5,
  product_version = 7,
  vsd_vendor = 8,
  hardware_ids = 10,
  end = 0xff,
};
struct fs2_tag {
  static constexpr std::size_t bytes = 4;
  as<fs2_tag_type> type   {0x00, 31, 24, "type"};
  bits             length {0x00, 23,  0, "length"};  ///< bytes, a multiple of 4
};
struct fs2_firmware_version {
  static constexpr std::size_t bytes = 8;
  bits major    {0x00, 31, 16, "major"};
  bits minor    {0x04, 31, 16, "minor"};
  bits subminor {0x04, 15,  0, "subminor"};
};
inline constexpr unsigned fs2_psid_bytes = 16, fs2_vsd_bytes = 208, fs2_product_version_bytes = 16;
static_assert(claimed<fs2_header>().sound && claimed<fs2_section>().sound);

/// The CRC of the image: over words, the most significant bit first.
class fs2_crc {
 public:
  constexpr void add(std::uint32_t word) {
    for (unsigned bit = 32; bit-- != 0;) shift((word >> bit & 1) != 0);
  }
  constexpr std::uint16_t value() const {
    fs2_crc ended = *this;
    for (unsigned bit = 0; bit < 16; ++bit) ended.shift(false);
    return ended.remainder_ ^ 0xffff;
  }

 private:
  constexpr void shift(bool in) {
    const bool out = (remainder_ & 0x8000) != 0;
    remainder_ = static_cast<std::uint16_t>((remainder_ << 1 | (in ? 1 : 0)) ^ (out ? polynomial : 0));
  }
  static constexpr std::uint16_t polynomial = 0x100b;
  std::uint16_t remainder_ = 0xffff;
};

}  // namespace freehca::layouts
