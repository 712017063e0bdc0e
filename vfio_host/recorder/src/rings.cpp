// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "rings.hpp"

#include <algorithm>
#include <cstring>

#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/map.hpp>
#include <freehca/layouts/mtt.hpp>
#include <freehca/layouts/srqc.hpp>
#include <freehca/layouts/wqe.hpp>

#include "send_entry.hpp"

namespace freehca::recorder {

using namespace layouts;

namespace {

constexpr std::size_t unit = 32;  // of page_offset in CQ and EQ contexts
constexpr std::size_t wqe_unit_bytes = 64;

template <class T>
image<T> at(const bytes& data, std::size_t offset = 0) {
  if (offset + T::bytes > data.size()) return {};
  return image<T>::from_bytes(data.data() + offset);
}

}  // namespace

void rings::forget() {
  lent_.clear();
  written_.clear();
  table_begin_ = table_end_ = 0;
  all_.clear();
  areas_.clear();
  dirty_.clear();
}

std::map<std::uint64_t, rings::area>::const_iterator rings::area_at(std::uint64_t address) const {
  auto next = areas_.upper_bound(address);
  if (next == areas_.begin()) return areas_.end();
  --next;
  return address - next->first < next->second.bytes ? next : areas_.end();
}

bytes rings::read(std::uint64_t address, std::size_t count) const {
  const std::byte* from = memory_.host_of(address, count);
  return from == nullptr ? bytes() : bytes(from, from + count);
}

void rings::before(const entry& c, const bytes& input) {
  switch (c.opcode) {
    case opcode::init_hca:
      long_completions_ = at<init_hca>(input).get<&init_hca::cqe_64b>();
      long_events_ = at<init_hca>(input).get<&init_hca::eqe_64b>();
      follow_translations(input);
      break;
    case opcode::map_icm:
      lend(c, input);
      break;
    case opcode::write_mtt: {
      const std::uint64_t first =
          at<write_mtt_header>(input).get<&write_mtt_header::mtt_base_addr>();
      for (std::size_t i = 0; i < c.input_modifier; ++i)
        written_[first + i * mtt::bytes] =
            at<mtt>(input, write_mtt_header::bytes + i * mtt::bytes).get<&mtt::ptag>();
      break;
    }
    case opcode::sw2hw_eq:
    case opcode::sw2hw_cq:
    case opcode::sw2hw_srq:
      take_queue(c, input);
      break;
    case opcode::rst2init_qp:
      take_queue_pair(c, input);
      break;
    case opcode::hw2sw_eq:
    case opcode::hw2sw_cq: {
      const auto kind =
          c.opcode == opcode::hw2sw_eq ? ring_kind::event_queue : ring_kind::completion_queue;
      if (const auto r = all_.find({kind, c.input_modifier}); r != all_.end()) sweep(r->second);
      break;
    }
    case opcode::modify_cq:
      // A queue that is resized is no longer followed: its new ring begins with a copy.
      if (c.opcode_modifier == 0) remove({ring_kind::completion_queue, c.input_modifier});
      break;
    default:
      break;
  }
}

void rings::after(const entry& c) {
  switch (c.opcode) {
    case opcode::hw2sw_eq:
      return remove({ring_kind::event_queue, c.input_modifier});
    case opcode::hw2sw_cq:
      return remove({ring_kind::completion_queue, c.input_modifier});
    case opcode::hw2sw_srq:
      return remove({ring_kind::shared_receives, c.input_modifier});
    case opcode::to_rst_qp:
      return remove({ring_kind::queue_pair, c.input_modifier});
    case opcode::close_hca:
      return forget();
    case opcode::unmap_icm:
      return take_back(c.input, c.input_modifier * std::uint64_t{icm_page_size});
    default:
      return;
  }
}

void rings::lend(const entry& c, const bytes& input) {
  for (std::size_t i = 0; i < c.input_modifier; ++i) {
    const auto e = at<map_entry>(input, i * map_entry::bytes);
    const std::uint64_t va = e.get<&map_entry::va>();
    lent_[va] = {e.get<&map_entry::pa>(),
                 std::uint64_t{icm_page_size} << e.get<&map_entry::log2size>()};
    if (va >= table_begin_ && va < table_end_)
      areas_[lent_[va].bus] = {lent_[va].bytes, nullptr, 0};
  }
}

/// If only a part of a chunk is taken back, the whole chunk is not followed any more.
void rings::take_back(std::uint64_t va, std::uint64_t count) {
  std::erase_if(lent_, [&](const auto& entry) {
    const auto& [begin, lent] = entry;
    if (begin >= va + count || va >= begin + lent.bytes) return false;
    const auto a = areas_.find(lent.bus);
    if (a != areas_.end() && a->second.of == nullptr) areas_.erase(a);
    return true;
  });
}

/// The table of translations has no length in INIT_HCA: it ends where the next table begins.
void rings::follow_translations(const bytes& init) {
  const auto all = at<init_hca>(init);
  table_begin_ = all.get<&init_hca::mtt_base>();
  table_end_ = ~std::uint64_t{0};
  for (const std::uint64_t base :
       {all.get<&init_hca::qpc_base>(), all.get<&init_hca::srqc_base>(),
        all.get<&init_hca::cqc_base>(), all.get<&init_hca::altc_base>(),
        all.get<&init_hca::auxc_base>(), all.get<&init_hca::eqc_base>(),
        all.get<&init_hca::rdmarc_base>(), all.get<&init_hca::mc_base>(),
        all.get<&init_hca::dmpt_base>(), all.get<&init_hca::cmpt_base>()})
    if (base > table_begin_) table_end_ = std::min(table_end_, base);
  for (const auto& [va, c] : lent_)
    if (va >= table_begin_ && va < table_end_) areas_[c.bus] = {c.bytes, nullptr, 0};
}

std::uint64_t rings::page_of(std::uint64_t address) const {
  if (const auto written = written_.find(address); written != written_.end())
    return written->second;
  const std::uint64_t va = table_begin_ + address;
  auto c = lent_.upper_bound(va);
  if (c == lent_.begin()) return 0;
  --c;
  if (va - c->first >= c->second.bytes) return 0;
  const bytes stored = read(c->second.bus + (va - c->first), mtt::bytes);
  const auto translation = at<mtt>(stored);
  return translation.get<&mtt::present>() ? translation.get<&mtt::ptag>() : 0;
}

void rings::take_queue(const entry& c, const bytes& input) {
  ring r;
  r.number = c.input_modifier;
  const auto pages_of = [&r](std::uint64_t log) { r.page_bytes = std::size_t{4096} << log; };
  if (c.opcode == opcode::sw2hw_eq) {
    const auto context = at<eqc>(input);
    r.kind = ring_kind::event_queue;
    r.entries = 1u << context.get<&eqc::log_eq_size>();
    r.entry_bytes = long_events_ ? 64 : eqe::bytes;
    r.offset = eqe_offset_in_entry(long_events_);
    r.first = context.get<&eqc::page_offset>() * unit;
    pages_of(context.get<&eqc::log_page_size>());
    r.bytes = r.entries * r.entry_bytes;
    return add(std::move(r), context.get<&eqc::mtt_base_addr>(), 0, 0);
  }
  if (c.opcode == opcode::sw2hw_cq) {
    const auto context = at<cqc>(input);
    // The adapter writes all completions into one entry, so there is no ring to follow.
    if (context.get<&cqc::cc>()) return;
    r.kind = ring_kind::completion_queue;
    r.entries = 1u << context.get<&cqc::log_cq_size>();
    r.entry_bytes = long_completions_ ? 64 : cqe::bytes;
    r.offset = long_completions_ ? 32 : 0;
    r.first = context.get<&cqc::page_offset>() * unit;
    pages_of(context.get<&cqc::log_page_size>());
    r.bytes = r.entries * r.entry_bytes;
    return add(std::move(r), context.get<&cqc::mtt_base_addr>(), context.get<&cqc::db_rec_addr>(),
               cq_doorbell_record::bytes);
  }
  const auto context = at<srqc>(input);
  r.kind = ring_kind::shared_receives;
  r.first = context.get<&srqc::page_offset>() * wqe_unit_bytes;
  pages_of(context.get<&srqc::log_page_size>());
  r.bytes = (std::size_t{16} << context.get<&srqc::log_srq_stride>())
            << context.get<&srqc::log_srq_size>();
  add(std::move(r), context.get<&srqc::mtt_base_addr>(), context.get<&srqc::db_rec_addr>(),
      rq_doorbell_record::bytes);
}

/// The queue with the larger stride comes first, the send queue when they are equal (Linux
/// hw/mlx4/qp.c set_kernel_sq_size, libmlx4 mlx4_alloc_qp_buf).
void rings::take_queue_pair(const entry& c, const bytes& input) {
  const auto context = at<qpc>(input, qp_mailbox{}.context.offset);
  ring r;
  r.kind = ring_kind::queue_pair;
  r.number = c.input_modifier;
  r.service = context.get<&qpc::service>();
  r.first = context.get<&qpc::page_offset>() * wqe_unit_bytes;
  r.page_bytes = std::size_t{4096} << context.get<&qpc::log_page_size>();
  r.send_stride = std::size_t{16} << context.get<&qpc::log_sq_stride>();
  const std::uint64_t log_sends = context.get<&qpc::log_sq_size>();
  r.send_bytes = log_sends == 0 ? 0 : r.send_stride << log_sends;
  const bool receives = !context.get<&qpc::srq>() && r.service != qp_service::xrc;
  const std::size_t receive_stride = std::size_t{16} << context.get<&qpc::log_rq_stride>();
  const std::size_t receive_bytes =
      receives ? receive_stride << context.get<&qpc::log_rq_size>() : 0;
  r.send_first = receives && receive_stride > r.send_stride ? receive_bytes : 0;
  r.bytes = r.send_bytes + receive_bytes;
  add(std::move(r), context.get<&qpc::mtt_base>(), context.get<&qpc::db_rec_addr>(),
      receives ? rq_doorbell_record::bytes : 0);
}

void rings::add(ring r, std::uint64_t mtt_address, std::uint64_t record, std::size_t record_bytes) {
  const key which{r.kind, r.number};
  remove(which);
  const std::size_t count = (r.first + r.bytes + r.page_bytes - 1) / r.page_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t page = page_of(mtt_address + i * mtt::bytes);
    if (page == 0) return;
    r.pages.push_back(page);
  }
  ring& kept = all_[which] = std::move(r);
  for (std::size_t done = 0; done < kept.bytes;) {
    const std::size_t now =
        std::min(kept.bytes - done, kept.page_bytes - (kept.first + done) % kept.page_bytes);
    areas_[kept.address_of(done)] = {now, &kept, done};
    tell(&kept, kept.address_of(done), done, now);
    done += now;
  }
  if (record_bytes == 0) return;
  kept.record = record;
  areas_[record] = {record_bytes, nullptr, kept.number};
  tell(nullptr, record, 0, record_bytes);
}

void rings::remove(const key& which) {
  const auto found = all_.find(which);
  if (found == all_.end()) return;
  const ring& gone = found->second;
  std::erase_if(areas_, [&](const auto& a) {
    return a.second.of == &gone || (gone.record && a.first == *gone.record);
  });
  all_.erase(found);
}

void rings::stored(std::uint64_t address, std::size_t count) {
  if (area_at(address) == areas_.end()) return;
  if (!dirty_.empty() && dirty_.back().first + dirty_.back().second == address)
    dirty_.back().second += count;
  else dirty_.emplace_back(address, count);
}

void rings::flush() {
  const auto all = std::move(dirty_);
  dirty_.clear();
  for (auto [address, count] : all) {
    while (count != 0) {
      const auto a = area_at(address);
      if (a == areas_.end()) break;
      const std::size_t in = address - a->first;
      const std::size_t now = std::min(count, a->second.bytes - in);
      tell(a->second.of, address, a->second.at + in, now);
      address += now;
      count -= now;
    }
  }
}

void rings::tell(const ring* of, std::uint64_t address, std::size_t where, std::size_t count) {
  if (of == nullptr || of->kind != ring_kind::queue_pair)
    return tell_memory(address, read(address, count));
  const std::size_t begin = of->send_first, end = of->send_first + of->send_bytes;
  const std::size_t from = std::clamp(where, begin, end),
                    to = std::clamp(where + count, begin, end);
  if (from < to) tell_send_entries(*of, from, to - from);
  if (where < begin) tell_memory(address, read(address, std::min(count, begin - where)));
  if (where + count > end) {
    const std::size_t first = std::max(where, end);
    tell_memory(address + (first - where), read(address + (first - where), where + count - first));
  }
}

void rings::tell_send_entries(const ring& of, std::size_t where, std::size_t count) {
  const std::size_t stride = of.send_stride;
  std::size_t entry = of.send_first + (where - of.send_first) / stride * stride;
  for (; entry < where + count; entry += stride) {
    bytes wqe;
    // An entry is a whole number of blocks of 64 bytes, and a block is inside one page.
    for (std::size_t block = 0; block < stride; block += wqe_unit_bytes) {
      const bytes piece = read(of.address_of(entry + block), wqe_unit_bytes);
      wqe.insert(wqe.end(), piece.begin(), piece.end());
    }
    if (wqe.size() != stride) continue;
    if (of.service == qp_service::ud) address_(wqe.data() + wqe_ctrl::bytes);
    leave_payload_out(wqe, of.service);
    for (std::size_t done = 0; done < stride;) {
      const std::uint64_t address = of.address_of(entry + done);
      const std::size_t now =
          std::min(stride - done, of.page_bytes - (of.first + entry + done) % of.page_bytes);
      tell_memory(address, bytes(wqe.begin() + static_cast<std::ptrdiff_t>(done),
                                 wqe.begin() + static_cast<std::ptrdiff_t>(done + now)));
      done += now;
    }
  }
}

/// Records a run of equal words separately, so that the record needs only the word.
void rings::tell_memory(std::uint64_t address, const bytes& data) {
  constexpr std::size_t shortest = 256;
  std::size_t recorded = 0;
  const auto piece = [&](std::size_t from, std::size_t to) {
    if (from != to)
      store_(address + from, bytes(data.begin() + static_cast<std::ptrdiff_t>(from),
                                   data.begin() + static_cast<std::ptrdiff_t>(to)));
  };
  for (std::size_t i = 0; i + 4 <= data.size();) {
    std::size_t end = i + 4;
    while (end + 4 <= data.size() && std::memcmp(data.data() + i, data.data() + end, 4) == 0)
      end += 4;
    if (end - i >= shortest) {
      piece(recorded, i);
      piece(i, end);
      recorded = end;
    }
    i = end;
  }
  piece(recorded, data.size());
}

void rings::loads(std::uint64_t address) {
  const auto a = area_at(address);
  if (a == areas_.end() || a->second.of == nullptr) return;
  const ring& of = *a->second.of;
  if (of.kind != ring_kind::event_queue && of.kind != ring_kind::completion_queue) return;
  sweep(all_.at({of.kind, of.number}));
}

/// Records the entries whose owner bit says that they belong to software, as the driver takes them.
void rings::sweep(ring& in) {
  const key which{in.kind, in.number};
  for (;;) {
    const std::size_t where = (in.consumer & (in.entries - 1)) * in.entry_bytes + in.offset;
    const std::uint64_t address = in.address_of(where);
    const bytes data = read(address, cqe::bytes);
    if (data.size() != cqe::bytes) return;
    const bool owner = (data.back() & std::byte{0x80}) != std::byte{0};
    if (owner != ((in.consumer & in.entries) != 0)) return;
    flush();
    entry_(in, address, data);
    // The entry may have completed the command that destroyed this queue.
    const auto still = all_.find(which);
    if (still == all_.end()) return;
    ++in.consumer;
  }
}

}  // namespace freehca::recorder
