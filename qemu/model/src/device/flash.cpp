// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "device/flash.hpp"

#include "device/flash_image.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

// A chip of 2 MiB that firmware tools know (mstflint mflash.c g_flash_info_arr): which one cards
// have differs; chosen.
constexpr unsigned winbond = 0xef, w25q = 0x40, log_size = 21;
// All blocks are protected (bits 4:2), nothing is under way (bit 0): W25Q16 data sheet, status
// register 1.
constexpr std::uint32_t status = 0x1c;
constexpr std::uint32_t erased = 0xffffffff;

bool within(std::uint32_t offset, std::uint32_t base, std::uint32_t bytes) {
  return offset >= base && offset - base < bytes;
}

}  // namespace

flash::flash(const options& how) : image_(make_flash_image(how)) {}

void flash::add_counters(counter_registry& counters) const {
  counters.add("flash_transfers", transfers_);
}

bool flash::has_register(std::uint32_t offset) {
  return offset == flash_gateway::command || offset == flash_gateway::address ||
         within(offset, flash_gateway::data, flash_gateway::data_bytes);
}

std::uint32_t flash::read_word(std::uint32_t offset) const {
  if (offset == flash_gateway::command) return load_be<std::uint32_t>(command_.data());
  if (offset == flash_gateway::address) return address_;
  return data_[(offset - flash_gateway::data) / 4];
}

void flash::write_word(std::uint32_t offset, std::uint32_t value) {
  if (offset == flash_gateway::address) {
    address_ = value;
  } else if (offset != flash_gateway::command) {
    data_[(offset - flash_gateway::data) / 4] = value;
  } else {
    store_be<std::uint32_t>(command_.data(), value);
    if (!command_.get<&flash_command::busy>()) return;
    execute(command_);
    command_.set<&flash_command::busy>(false);
  }
}

void flash::execute(const command& c) {
  ++transfers_;
  if (!c.get<&flash_command::read>() || !c.get<&flash_command::data_phase>()) return;
  const unsigned bytes = 1u << c.get<&flash_command::log_data>();
  for (unsigned i = 0; i < data_.size() && i * 4 < bytes; ++i) data_[i] = answer(c, i);
}

std::uint32_t flash::answer(const command& c, unsigned word) const {
  // Nobody drives the wires of a chip that is not there, or that is not enabled.
  if (c.get<&flash_command::chip>() != 0 || !c.get<&flash_command::enable>() ||
      !c.get<&flash_command::opcode_phase>())
    return erased;
  switch (static_cast<spi_opcode>(c.get<&flash_command::opcode>())) {
    case spi_opcode::read_identification: {
      if (word != 0) return 0;
      const auto id = image<flash_identification>{}
                          .set<&flash_identification::vendor>(winbond)
                          .set<&flash_identification::type>(w25q)
                          .set<&flash_identification::log_size>(log_size);
      return load_be<std::uint32_t>(id.data());
    }
    case spi_opcode::read_status:
      // The chip repeats it as long as it is read.
      return status * 0x01010101u;
    case spi_opcode::read: {
      if (!c.get<&flash_command::address_phase>()) return erased;
      std::byte four[4];
      for (unsigned i = 0; i < 4; ++i) four[i] = stored(address_ + word * 4 + i);
      return load_be<std::uint32_t>(four);
    }
  }
  return erased;
}

std::byte flash::stored(std::uint32_t at) const {
  at &= (1u << log_size) - 1;
  return at < image_.size() ? image_[at] : std::byte{0xff};
}

void flash::clear() {
  command_ = {};
  address_ = 0;
  data_ = {};
}

}  // namespace freehca::model
