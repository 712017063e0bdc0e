// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "device/registers.hpp"

#include <utility>

#include "basis/identity.hpp"
#include "basis/places.hpp"
#include "firmware/command_engine.hpp"
#include "firmware/firmware.hpp"
#include "queues/event_queues.hpp"

namespace freehca::model {

namespace bar0 = layouts::bar0;

namespace {

constexpr bool within(std::uint32_t offset, std::uint32_t base, std::uint32_t bytes) {
  return offset >= base && offset - base < bytes;
}

/// The version of the firmware, as firmware tools look for it; when it was built: no source, zero.
std::uint32_t running_version_word(variant kind, std::uint32_t offset) {
  using l = layouts::running_version;
  const identity& who = identity_of(kind);
  const auto version = layouts::image<l>{}
                           .set<&l::major>(who.firmware_major)
                           .set<&l::minor>(who.firmware_minor)
                           .set<&l::subminor>(who.firmware_subminor);
  return layouts::load_be<std::uint32_t>(version.data() + offset);
}

static_assert(places::error_buffer + places::error_buffer_words * 4 <=
              layouts::running_version_place);

}  // namespace

registers::registers(const options& how, event_queues& eqs, command_engine& engine,
                     firmware& software, rule_book& rules)
    : how_(how), eqs_(eqs), engine_(engine), firmware_(software), rules_(rules), flash_(how) {}

void registers::add_counters(counter_registry& counters) const {
  flash_.add_counters(counters);
  counters.add("software_resets", resets_);
}

std::uint64_t registers::read(std::uint64_t offset, unsigned bytes) {
  if ((bytes != 4 && bytes != 8) || offset % bytes != 0 || offset >= bar0::size) {
    rules_.complain(rule::register_access, "read of %u bytes at 0x%llx of BAR0", bytes,
                    static_cast<unsigned long long>(offset));
    return ~std::uint64_t{0};
  }
  const auto at = static_cast<std::uint32_t>(offset);
  if (bytes == 4) return read_word(at);
  const std::uint64_t high = read_word(at);
  return high << 32 | read_word(at + 4);
}

void registers::write(std::uint64_t offset, std::uint64_t value, unsigned bytes) {
  if ((bytes != 4 && bytes != 8) || offset % bytes != 0 || offset >= bar0::size) {
    rules_.complain(rule::register_access, "write of %u bytes at 0x%llx of BAR0", bytes,
                    static_cast<unsigned long long>(offset));
    return;
  }
  const auto at = static_cast<std::uint32_t>(offset);
  if (bytes == 4) return write_word(at, static_cast<std::uint32_t>(value));
  if (within(at, bar0::hcr, bar0::hcr_size)) {
    // The register takes 32-bit accesses only (Linux mlx4_cmd_post); what a real card makes of
    // others is not known.
    rules_.complain(rule::command_register_words, "64-bit write at 0x%x of the command register",
                    at - bar0::hcr);
    return;
  }
  write_word(at, static_cast<std::uint32_t>(value >> 32));
  write_word(at + 4, static_cast<std::uint32_t>(value));
}

std::uint32_t registers::read_word(std::uint32_t offset) {
  if (within(offset, bar0::hcr, bar0::hcr_size)) return engine_.read_word(offset - bar0::hcr);
  if (flash::has_register(offset)) return flash_.read_word(offset);
  if (tools_commands::has_register(offset)) return tools_.read_word(offset);
  if (within(offset, layouts::running_version_place, layouts::running_version::bytes))
    return running_version_word(how_.kind, offset - layouts::running_version_place);
  // The one buffer that was seen of a card that still answered: captures.
  if (offset == places::error_buffer) return internal_error_ ? 0x0fffffff : 0;
  switch (offset) {
    case bar0::ownership: {
      const bool was = owned_;
      owned_ = true;
      return was ? 1 : 0;
    }
    case bar0::flash_semaphore: {
      const bool was = flash_owned_;
      flash_owned_ = true;
      return was ? 1 : 0;
    }
    case layouts::flash_gateway::programming_semaphore: {
      const bool was = programming_owned_;
      programming_owned_ = true;
      return was ? 1 : 0;
    }
    case layouts::tools_command::semaphore: {
      const bool was = tools_owned_;
      tools_owned_ = true;
      return was ? 1 : 0;
    }
    case bar0::hardware_id:
      return identity_of(how_.kind).hardware_id;
    case places::clock:
      clock_read_ = firmware_.clock_ticks();
      return static_cast<std::uint32_t>(*clock_read_ >> 32);
    case places::clock + 4:
      return clock_low_word();
    default:
      return 0;
  }
}

/// Reads of 32 bits take the clock's words one after the other. The low word belongs to the high
/// word that was read before it: when the high word has changed since, it is the low word of that
/// moment. Linux reads high, low, high, until both high words are the same (main.c
/// mlx4_read_clock), and so does libmlx4 (verbs.c mlx4_query_values): the words of its last round
/// are of one moment too. What hardware does has no source: chosen.
std::uint32_t registers::clock_low_word() {
  const std::uint64_t now = firmware_.clock_ticks();
  const std::uint64_t before = std::exchange(clock_read_, std::nullopt).value_or(now);
  return static_cast<std::uint32_t>(before >> 32 == now >> 32 ? now : before);
}

void registers::write_word(std::uint32_t offset, std::uint32_t value) {
  if (within(offset, bar0::hcr, bar0::hcr_size))
    return engine_.write_word(offset - bar0::hcr, value);
  if (flash::has_register(offset)) return flash_.write_word(offset, value);
  if (tools_commands::has_register(offset)) return tools_.write_word(offset, value);
  if (const unsigned pin = how_.interrupt_pin;
      offset == places::clear_interrupt + (pin < 32 ? 4 : 0)) {
    if ((value >> (pin & 31) & 1) != 0) eqs_.clear_interrupt();
    return;
  }
  switch (offset) {
    case layouts::flash_gateway::programming_semaphore:
      if (value == 0) programming_owned_ = false;
      return;
    case layouts::tools_command::semaphore:
      if (value == 0) tools_owned_ = false;
      return;
    case bar0::ownership:
      if (value == 0) owned_ = false;
      return;
    case bar0::flash_semaphore:
      if (value == 0) flash_owned_ = false;
      return;
    case bar0::flush:
      return;
    case bar0::reset:
      // iPXE writes 0x01000001, everybody else 1 (captures).
      if ((value & bar0::reset_value) == 0) {
        rules_.complain(rule::reset_value, "write of 0x%x to the software reset register", value);
        return;
      }
      ++resets_;
      firmware_.software_reset();
      return;
    default:
      rules_.complain(rule::register_place, "write of 0x%x at 0x%x of BAR0, where no register is",
                      value, offset);
  }
}

void registers::clear() {
  // That a reset clears the ownership semaphore has no source: chosen. The flash semaphore is freed
  // by it (register_map.hpp).
  owned_ = flash_owned_ = tools_owned_ = programming_owned_ = internal_error_ = false;
  clock_read_.reset();
  flash_.clear();
  tools_.clear();
}

}  // namespace freehca::model
