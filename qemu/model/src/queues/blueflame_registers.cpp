// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "queues/blueflame_registers.hpp"

#include <algorithm>
#include <cstring>

#include <freehca/layouts/wqe.hpp>

#include "basis/limits.hpp"
#include "queues/queue_pairs.hpp"
#include "queues/wqe_reader.hpp"

namespace freehca::model {

using namespace layouts;

void blueflame_registers::ring(copy& c, std::uint32_t page) {
  if (!c.rings) return;
  a_.work.cancel(c.rings);
  c.rings = {};
  ring_(page, c.qpn);
}

void blueflame_registers::begin(copy& c, std::uint32_t page, std::uint32_t half) {
  if (!c.judged)
    a_.rules.complain(rule::blueflame_whole,
                      "UAR page %u: %zu bytes for QP 0x%06x, then the next copy; its ds says %zu",
                      page, c.written, c.qpn, c.wanted);
  if (c.last_half == half)
    a_.rules.complain(rule::blueflame_half, "UAR page %u: a copy in half %u, as the one before",
                      page, half);
  ring(c, page);
  c.half = half;
  c.last_half = half;
  c.written = c.wanted = 0;
  c.judged = false;
}

void blueflame_registers::write(std::uint32_t page, std::uint32_t offset, const std::byte* from,
                                std::size_t bytes) {
  const std::uint32_t half = offset / half_bytes % 2, at = offset % half_bytes;
  const std::uint64_t key = key_of(page, offset);
  const auto is_full = [this] { return registers_.size() >= limits::blueflame_registers; };
  if (is_full() && !registers_.contains(key))
    std::erase_if(registers_, [](const auto& r) { return r.second.judged; });
  if (is_full() && !registers_.contains(key)) registers_.clear();
  copy& c = registers_[key];
  if (at == 0) begin(c, page, half);
  if (at == c.written && half == c.half) {
    take(c, key, at, from, bytes);
    return;
  }
  if (!c.judged)
    a_.rules.complain(rule::blueflame_whole,
                      "UAR page %u: a write at byte %u of half %u; wanted: byte %zu of half %u",
                      page, at, half, c.written, c.half);
  c.judged = true;
  ring(c, page);
}

void blueflame_registers::take(copy& c, std::uint64_t key, std::uint32_t at, const std::byte* from,
                               std::size_t bytes) {
  const std::uint32_t page = page_of(key);
  std::copy_n(from, bytes, c.bytes.begin() + at);
  c.written += bytes;
  constexpr std::size_t head = 8;
  if (c.written < head) return;
  if (c.written - bytes < head) {
    std::array<std::byte, wqe_ctrl_blueflame::bytes> known{};
    std::copy_n(c.bytes.begin(), head, known.begin());
    const auto control = image<wqe_ctrl_blueflame>::from_bytes(known.data());
    c.qpn = static_cast<std::uint32_t>(control.get<&wqe_ctrl_blueflame::qpn>());
    c.wanted = static_cast<std::size_t>(control.get<&wqe_ctrl_blueflame::ds>()) * wqe_unit;
    c.rings = work_.after(limits::blueflame_patience,
                          {.kind = late_doorbell, .number = c.qpn, .value = key});
  }
  if (c.written < c.wanted) return;
  if (!c.judged) judge(c, page);
  // Drivers copy whole blocks (Linux 6.1 en_tx.c and rdma-core qp.c `mlx4_bf_copy`). Who is told of
  // the request before the last word of its block is there meets a processor that still stores it.
  if (c.written % wqe_basic_block == 0) ring(c, page);
}

void blueflame_registers::run_item(work_item& what) {
  const auto late = registers_.find(what.value);
  if (late != registers_.end()) late->second.rings = {};
  ring_(page_of(what.value), what.number);
}

void blueflame_registers::judge(copy& c, std::uint32_t page) {
  c.judged = true;
  const queue_pair* qp = pairs_.find(c.qpn);
  if (qp == nullptr || !qp->sq.ring.present || c.wanted > half_bytes) return;
  const auto control = image<wqe_ctrl_blueflame>::from_bytes(c.bytes.data());
  const auto index = static_cast<std::uint16_t>(control.get<&wqe_ctrl_blueflame::wqe_index>());
  std::array<std::byte, half_bytes> there;
  // Its doorbell came behind that of an entry before it: both were executed, and the driver stamps
  // what a completion gave back (Linux 6.1 en_tx.c mlx4_en_stamp_wqe).
  const bool given_back = static_cast<std::int16_t>(qp->sq.covered - index) > 0;
  if (given_back || !read_entry(a_, *qp, index, there.data(), c.wanted)) return;
  const auto differs = std::mismatch(there.begin(), there.begin() + c.wanted, c.bytes.begin());
  if (differs.first == there.begin() + c.wanted) return;
  a_.rules.complain(rule::blueflame_as_in_ring,
                    "UAR page %u: byte %td of the copy is 0x%02x, and 0x%02x in entry %u of QP "
                    "0x%06x",
                    page, differs.first - there.begin(), static_cast<unsigned>(*differs.second),
                    static_cast<unsigned>(*differs.first), unsigned{index}, c.qpn);
}

void blueflame_registers::forget(std::uint32_t qpn) {
  a_.account.charge(registers_.size() * work_account::entry);
  for (auto& [key, c] : registers_)
    if (c.qpn == qpn) a_.work.cancel(c.rings);
  std::erase_if(registers_, [&](const auto& r) { return r.second.qpn == qpn; });
}

}  // namespace freehca::model
