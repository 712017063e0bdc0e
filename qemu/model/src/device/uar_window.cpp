// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "device/uar_window.hpp"

#include <algorithm>
#include <array>

#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/register_map.hpp>

#include "queues/completion_queues.hpp"
#include "queues/event_queues.hpp"
#include "transport/transport.hpp"

namespace freehca::model {

namespace uar = layouts::uar;

void uar_window::add_counters(counter_registry& counters) const {
  counters.add("doorbells", doorbells_);
  counters.add("blueflame_writes", blueflame_writes_);
}

const char* uar_window::broken_invariant() const {
  constexpr unsigned log_least_page_bytes = 12;
  const std::uint64_t pages = config_.options().uar_bar_bytes / 2 >> log_least_page_bytes;
  const bool exist =
      std::ranges::all_of(first_halves_, [pages](const auto& half) { return half.first < pages; });
  return exist ? nullptr : "a doorbell waits in a UAR page that does not exist";
}

std::uint64_t uar_window::read(std::uint64_t offset, unsigned bytes) {
  if ((bytes == 4 || bytes == 8) && offset % bytes == 0) return 0;
  rules_.complain(rule::uar_access, "read of %u bytes at 0x%llx of BAR2", bytes,
                  static_cast<unsigned long long>(offset));
  return ~std::uint64_t{0};
}

void uar_window::write(std::uint64_t offset, std::uint64_t value, unsigned bytes) {
  if ((bytes != 4 && bytes != 8) || offset % bytes != 0 ||
      offset >= config_.options().uar_bar_bytes) {
    rules_.complain(rule::uar_access, "write of %u bytes at 0x%llx of BAR2", bytes,
                    static_cast<unsigned long long>(offset));
    return;
  }
  if (!config_.profile().running) {
    rules_.complain(rule::uar_before_init_hca,
                    "doorbell at 0x%llx of BAR2 while the HCA does not run",
                    static_cast<unsigned long long>(offset));
    return;
  }
  const std::uint64_t half = config_.options().uar_bar_bytes / 2;
  const std::uint64_t page = offset % half >> config_.profile().log_uar_page_bytes;
  const auto in_page = static_cast<std::uint32_t>(
      offset % half & ((std::uint64_t{1} << config_.profile().log_uar_page_bytes) - 1));
  if (offset >= half) {
    if (!config_.offers(capability::blueflame)) {
      rules_.complain(rule::blueflame_offered,
                      "BlueFlame write at 0x%llx of BAR2 of an adapter that has none",
                      static_cast<unsigned long long>(offset));
      return;
    }
    ++blueflame_writes_;
    std::array<std::byte, 8> wire{};
    if (bytes == 4) layouts::store_be(wire.data(), static_cast<std::uint32_t>(value));
    else layouts::store_be(wire.data(), value);
    queue_pairs_.blueflame(static_cast<std::uint32_t>(page), in_page, wire.data(), bytes);
    return;
  }
  if (bytes == 4) {
    write_word(page, in_page, static_cast<std::uint32_t>(value));
  } else {
    write_word(page, in_page, static_cast<std::uint32_t>(value >> 32));
    write_word(page, in_page + 4, static_cast<std::uint32_t>(value));
  }
}

void uar_window::rung(std::uint32_t page, std::uint32_t offset, std::uint32_t value) {
  ++doorbells_;
  if (rules_.listened_to(remark_kind::doorbell))
    rules_.tell(remark_kind::doorbell, "UAR page %u, offset 0x%x: 0x%08x", page, offset, value);
}

bool uar_window::is_reserved(std::uint32_t page) {
  return page < config_.limits().reserved_uars &&
         rules_.complain(rule::uar_reserved, "doorbell in UAR page %u; the first %u are reserved",
                         page, config_.limits().reserved_uars);
}

void uar_window::write_word(std::uint64_t page, std::uint32_t offset, std::uint32_t value) {
  const auto uar_page = static_cast<std::uint32_t>(page);
  constexpr std::uint32_t eq_end =
      uar::eq_doorbell + uar::eq_doorbells_per_page * uar::eq_doorbell_stride;
  if (offset == uar::cq_doorbell + 4) {
    const auto first = first_halves_.extract(uar_page);
    if (!first) {
      rules_.complain(rule::cq_doorbell_halves,
                      "second half of a CQ doorbell without its first, UAR page %u", uar_page);
      return;
    }
    rung(uar_page, offset, value);
    if (is_reserved(uar_page)) return;
    cqs_.doorbell(uar_page, first.mapped(), value);
    return;
  }
  if (offset == uar::cq_doorbell) {
    first_halves_[uar_page] = value;
    return;
  }
  if (offset == uar::send_doorbell) {
    rung(uar_page, offset, value);
    if (is_reserved(uar_page)) return;
    layouts::image<layouts::send_doorbell> d;
    layouts::store_be(d.data(), value);
    queue_pairs_.send_doorbell(uar_page,
                               static_cast<std::uint32_t>(d.get<&layouts::send_doorbell::qpn>()));
  } else if (offset >= uar::eq_doorbell && offset < eq_end &&
             (offset - uar::eq_doorbell) % uar::eq_doorbell_stride == 0) {
    rung(uar_page, offset, value);
    eqs_.doorbell(uar_page, (offset - uar::eq_doorbell) / uar::eq_doorbell_stride, value);
  } else {
    rules_.complain(rule::uar_place, "write at 0x%x of UAR page %u, where no doorbell is", offset,
                    uar_page);
  }
}

}  // namespace freehca::model
