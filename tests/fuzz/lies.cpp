// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "lies.hpp"

#include <algorithm>

namespace freehca::fuzz {

lies::lies(in_process::machine& on, input& from, canceller cancel,
           std::function<bool(std::uint64_t address)> payload)
    : machine_(on), input_(from), cancel_(std::move(cancel)), payload_(std::move(payload)) {
  begin_next();
  machine_.alter_adapter_write = [this](std::uint64_t address, std::byte* bytes,
                                        std::size_t count) {
    if (!due()) return;
    changed_writes_ = true;
    if (!payload_ || !payload_(address)) changed_structures_ = true;
    alter(bytes, count);
  };
  machine_.alter_register_read = [this](unsigned, std::size_t, std::uint32_t value) {
    return due() ? alter(value) : value;
  };
  machine_.adapter().judge_commands([this](layouts::opcode, std::uint32_t) { return judge(); });
  machine_.adapter().judge_events([this](layouts::event_type) { return judge_event(); });
  machine_.adapter().judge_requests([this](layouts::wqe_opcode) { return judge_request(); });
}

void lies::stop() {
  on_ = false;
  machine_.alter_adapter_write = {};
  machine_.alter_register_read = {};
  machine_.adapter().judge_commands({});
  machine_.adapter().judge_events({});
  machine_.adapter().judge_requests({});
}

void lies::next() {
  ++told_;
  begin_next();
}

void lies::begin_next() {
  on_ = !input_.empty();
  gap_ = input_.byte();
  // Most chances in a bring-up are reads of registers: some gaps have to be long.
  if (gap_ >= 0xc0) gap_ = (gap_ - 0xc0) << 6;
  kind_ = static_cast<kind>(input_.byte() % kinds);
  place_ = input_.byte();
  value_ = input_.word();
}

// Whether this is the chance that the lie waits for.
bool lies::due() {
  if (!on_) return false;
  if (gap_ > 0) {
    --gap_;
    return false;
  }
  if (kind_ == kind::cancel || kind_ == kind::cancel_inside || kind_ == kind::late_answers) {
    const kind what = kind_;
    next();
    if (what == kind::late_answers) machine_.adapter().release_held_commands();
    else cancel_(what == kind::cancel ? moment::between_polls : moment::at_a_completion);
    return false;
  }
  if (kind_ == kind::removal) {
    // A rare thing, or every second input would end here.
    if ((value_ & 0xf) == 0) {
      machine_.remove();
      removed_ = true;
    }
    next();
    return false;
  }
  return !about_a_decision();
}

void lies::alter(std::byte* bytes, std::size_t count) {
  const std::size_t at = place_ % count;
  switch (kind_) {
    case kind::flip:
      bytes[at] ^= static_cast<std::byte>(1u << (value_ & 7));
      break;
    case kind::byte:
      bytes[at] = static_cast<std::byte>(value_);
      break;
    case kind::word:
      for (std::size_t i = 0; i < 4; ++i)
        if (const std::size_t to = (at & ~std::size_t{3}) + i; to < count)
          bytes[to] = static_cast<std::byte>(value_ >> (24 - 8 * i));
      break;
    default:
      std::fill_n(bytes, count, kind_ == kind::ones ? std::byte{0xff} : std::byte{0});
  }
  next();
}

std::uint32_t lies::alter(std::uint32_t value) {
  const kind what = kind_;
  const std::uint32_t with = value_;
  next();
  switch (what) {
    case kind::flip:
      return value ^ 1u << (with & 31);
    case kind::byte:
      return (value & ~0xffu) | (with & 0xff);
    case kind::word:
      return with;
    default:
      return what == kind::ones ? ~0u : 0;
  }
}

model::command_verdict lies::judge() {
  using fate = model::command_verdict::fate;
  if (!on_ || gap_ > 0 || !about_a_command()) return {};
  const fate what = kind_ == kind::hold_command  ? fate::hold
                    : kind_ == kind::lose_answer ? fate::lose_answer
                                                 : fate::refuse;
  const auto status = static_cast<layouts::command_status>(value_ & 0xff);
  next();
  return {what, status};
}

model::event_fate lies::judge_event() {
  if (!on_ || gap_ > 0 || !about_an_event()) return model::event_fate::deliver;
  const bool lost = kind_ == kind::lose_event;
  next();
  return lost ? model::event_fate::lose : model::event_fate::twice;
}

// False: the request ends with an error.
bool lies::judge_request() {
  if (!on_ || gap_ > 0 || kind_ != kind::refuse_request) return true;
  next();
  return false;
}

}  // namespace freehca::fuzz
