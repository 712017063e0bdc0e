// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>

#include "adapter.hpp"
#include "memory_regions.hpp"

namespace freehca::model {

/// Consumer and producer counters of EQs and CQs are 24 bits wide and count on past the queue's size.
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
template <class Context>
bool has_good_page_size(const layouts::image<Context>& c) {
  return c.template get<&Context::log_page_size>() <= log_most_page_bytes - 12;
}

/// Does the UAR page of a queue's doorbells lie in the BAR? BlueFlame has the other half.
template <class Context>
bool has_uar_page(const adapter& a, const layouts::image<Context>& c) {
  return c.template get<&Context::usr_page>() < a.how.uar_bar_bytes / 2 >>
         a.profile.log_uar_page_bytes;
}

}  // namespace freehca::model
