// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

#include <freehca/layouts/layout.hpp>

#include "command/command_checks.hpp"
#include "tables/memory_regions.hpp"

namespace freehca::model {

/// Consumer and producer counters of EQs and CQs are 24 bits wide and count on past the queue's
/// size.
inline constexpr std::uint32_t counter_mask = 0xffffff;

/// How far `ahead` is in front of `behind`, as a signed distance of 24-bit counters.
constexpr std::int32_t counter_distance(std::uint32_t ahead, std::uint32_t behind) {
  const std::uint32_t d = (ahead - behind) & counter_mask;
  return d < 0x800000 ? static_cast<std::int32_t>(d) : static_cast<std::int32_t>(d) - 0x1000000;
}

/// The buffer that an EQ or CQ context (or another with the same rows) describes.
template <class Context>
queue_buffer buffer_of(const layouts::image<Context>& c) {
  queue_buffer b;
  b.mtt_base = c.template get<&Context::mtt_base_addr>();
  b.log_page_bytes = 12 + static_cast<unsigned>(c.template get<&Context::log_page_size>());
  b.page_offset = static_cast<std::uint32_t>(c.template get<&Context::page_offset>()) * 32;
  return b;
}

/// log_page_size counts from 4 KB.
inline constexpr unsigned log_page_size_max = log_most_page_bytes - 12;

/// Writes the context of the object that the command names, which `q` is, to the output mailbox. A
/// context that cannot be read is told by the rules; what is taken then reads as zeros.
template <class T>
void answer_context(command_checks& is, const command& c, const std::optional<layouts::image<T>>& q,
                    const char* what) {
  is.lent(q.has_value(), what, c.input_modifier).answer(c, q ? *q : layouts::image<T>{});
}

}  // namespace freehca::model
