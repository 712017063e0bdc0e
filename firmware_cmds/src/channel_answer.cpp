// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Ends commands: answers in the command register, completion events, deadlines, a device that is
// gone.
#include <freehca/firmware_cmds/channel.hpp>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/layouts/hcr.hpp>

namespace freehca {

namespace {
constexpr std::uint32_t all_ones = ~std::uint32_t{0};
}

/// Reads the last word of the command register. The register is taken until the firmware has
/// cleared `go`. It is also taken while `t` shows that the word is not yet the answer to the last
/// command (Linux 6.1 cmd.c cmd_pending).
channel::register_state channel::look(std::uint8_t* raw_status) {
  constexpr std::size_t last = layouts::hcr{}.go.offset;
  const std::uint32_t word = mmio::read_32(hcr_, last);
  // The word with the token has sixteen reserved bits. Only a device that is gone returns all ones
  // for it.
  if (word == all_ones && mmio::read_32(hcr_, layouts::hcr{}.token.offset) == all_ones)
    return register_state::gone;
  layouts::image<layouts::hcr> seen;
  layouts::store_be(seen.data() + last, word);
  *raw_status = static_cast<std::uint8_t>(seen.get<&layouts::hcr::status>());
  return seen.get<&layouts::hcr::go>() || seen.get<&layouts::hcr::t>() == toggle_
             ? register_state::taken
             : register_state::free;
}

void channel::look_for_polled_answer() {
  if (register_owner_ == command::no_slot || !failure_.ok()) return;
  std::uint8_t raw_status = 0;
  const register_state state = look(&raw_status);
  if (state == register_state::gone) return fail_all(transport_error::gone);
  if (state == register_state::free) take_polled_answer(raw_status);
}

void channel::take_polled_answer(std::uint8_t raw_status) {
  command_slot& s = slots_[register_owner_];
  register_taken_since_ = operation::no_deadline;
  if (s.state == command_slot::use::in_doubt) {
    register_owner_ = command::no_slot;
    return answer_late(
        s, {.by_reset = false, .answer = static_cast<layouts::command_status>(raw_status)});
  }
  std::uint64_t output_immediate = 0;
  if (s.command->request.output == command_request::form::immediate) {
    constexpr std::size_t at = layouts::hcr{}.out_param.offset;
    output_immediate = std::uint64_t{mmio::read_32(hcr_, at)} << 32 | mmio::read_32(hcr_, at + 4);
  }
  barrier::mmio_load_to_dma_load();
  answer(s, raw_status, output_immediate);
}

void channel::on_completion(std::uint16_t token, std::uint8_t raw_status,
                            std::uint64_t output_immediate) {
  const unsigned index = token & ((1u << index_bits_) - 1);
  if (!is_open() || index >= slot_count_ || !slots_[index].ever_used) {
    ++statistics_.foreign;
    return;
  }
  command_slot& s = slots_[index];
  if (s.token != token) {
    ++statistics_.stale;
    return;
  }
  switch (s.state) {
    case command_slot::use::free:
    case command_slot::use::settled:
    case command_slot::use::due:
      ++statistics_.duplicate;
      return;
    case command_slot::use::in_flight:
    case command_slot::use::in_doubt:
      break;
  }
  if (!s.by_event) {
    ++statistics_.foreign;
    return;
  }
  if (s.state == command_slot::use::in_flight) answer(s, raw_status, output_immediate);
  else
    answer_late(s, {.by_reset = false, .answer = static_cast<layouts::command_status>(raw_status)});
}

void channel::answer(command_slot& s, std::uint8_t raw_status, std::uint64_t output_immediate) {
  command& c = *s.command;
  const status outcome = static_cast<layouts::command_status>(raw_status);
  if (outcome.ok()) {
    ++statistics_.answered_ok;
    if (c.request.output == command_request::form::immediate)
      c.output_immediate_ = output_immediate;
    if (c.request.output == command_request::form::mailbox) {
      cache::invalidate(output_mailbox(s).host, mailbox::bytes);
      c.request.decode(c, output_mailbox(s).host);
    }
  } else {
    ++statistics_.answered_with_error;
  }
  free_slot(s);
  end(c, outcome);
}

void channel::answer_late(command_slot& s, const settlement& end) {
  if (!end.by_reset) ++statistics_.late;
  s.end = end;
  s.state = command_slot::use::settled;
  settlements_due_ = true;
}

/// Reads the command register again after the deadline of a command in flight has passed: the
/// firmware may have answered since the first read in this poll(). Returns false if the command has
/// ended by this read.
bool channel::look_once_more(const command& c) {
  std::uint8_t raw_status = 0;
  const register_state state = look(&raw_status);
  if (state == register_state::gone) fail_all(transport_error::gone);
  else if (state == register_state::free && register_owner_ != command::no_slot)
    take_polled_answer(raw_status);
  return c.where() == operation::phase::in_flight;
}

}  // namespace freehca
