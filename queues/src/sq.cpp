// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/cache.hpp>
#include <freehca/queues/memory_requests.hpp>
#include <freehca/queues/sq.hpp>

namespace freehca::queues {

using namespace layouts;

status sq::open(const sq_resources& r) {
  const std::size_t stride = std::size_t{1} << r.shape.log_stride;
  const std::size_t longest =
      wqe_bytes_for(r.most_gather, r.most_inline,
                    has_datagrams(r.opcodes) ? datagram_header_bytes : rdma_header_bytes,
                    least_wqe_bytes(r.opcodes));
  if (r.shape.log_stride < 6 || r.shape.log_stride > 10 || r.shape.log_entries > 15 ||
      r.shape.most_posted() == 0 || r.ring.host == nullptr || r.ring.bytes < r.shape.bytes() ||
      r.slots == nullptr || r.uar.bytes < uar::page_size || longest > stride ||
      longest > most_wqe_bytes)
    return driver_error::bad_argument;
  ring_ = r.ring.host;
  slots_ = r.slots;
  uar_ = r.uar;
  most_message_bytes_ = r.most_message_bytes;
  if (r.most_gather != 0)
    most_bytes_ = static_cast<std::uint32_t>(
        r.most_message_bytes < most_data_bytes ? r.most_message_bytes : most_data_bytes);
  doorbell_ = swap_be(send_doorbell_word(r.qpn));
  mask_ = r.shape.entries() - 1;
  stride_ = stride;
  log_stride_ = r.shape.log_stride;
  spare_ = r.shape.spare();
  most_posted_ = r.shape.most_posted();
  most_inline_ = static_cast<std::uint16_t>(r.most_inline);
  most_gather_ = static_cast<std::uint16_t>(r.most_gather);
  opcodes_ = r.opcodes;
  reset();
  return {};
}

void sq::reset() {
  accepts_ = false;
  head_ = tail_ = 0;
  next_ = {ring_, ring_, 0, slots_};
  const std::size_t whole = stride_ / wqe_unit, units = whole > 63 ? 63 : whole;
  const std::uint64_t unused = in_word<&wqe_ctrl::owner>(1) | in_word<&wqe_ctrl::ds>(units);
  for (std::uint32_t i = 0; i <= mask_; ++i) {
    std::byte* const entry = ring_ + i * stride_;
    dma::clear(entry, stride_);
    for (std::size_t at = wqe_basic_block; at < stride_; at += wqe_basic_block)
      dma::store_be32(entry + at, wqe_stamp);
    dma::store_be64(entry, unused);
    slots_[i] = {};
  }
  cache::clean(ring_, (std::size_t{mask_} + 1) * stride_);
}

const posted_request* sq::retire_up_to(std::uint16_t wqe_index) {
  const auto ahead = static_cast<std::uint16_t>(wqe_index - static_cast<std::uint16_t>(tail_));
  if (ahead >= outstanding()) return nullptr;
  tail_ += ahead + 1u;
  return slots_ + (wqe_index & mask_);
}

status sq::prepare() {
  if (!is_open() || !accepts_) return driver_error::bad_state;
  const std::uint32_t room = most_posted_ - outstanding();
  if (room == 0) return driver_error::queue_full;
  const std::uint32_t index = head_ & mask_;
  std::uint32_t run = mask_ + 1 - index;
  if (run > room) run = room;
  if (run > most_prepared) run = most_prepared;
  std::byte* const at = ring_ + index * stride_;
  const bool odd_lap = (head_ & (mask_ + 1)) != 0;
  next_ = {at, at + run * stride_, odd_lap ? bit_in_memory<&wqe_ctrl::owner> : 0, slots_ + index};
  // What the headroom grows by: the WQEs there are retired, and the device does not look at them
  // before those that come now. An entry of one block has no stamp but its owner bit.
  if (stride_ == wqe_basic_block) return {};
  for (std::uint32_t n = head_ + spare_; n != head_ + spare_ + run; ++n) {
    std::byte* const entry = ring_ + (n & mask_) * stride_;
    for (std::size_t block = wqe_basic_block; block < stride_; block += wqe_basic_block)
      dma::store_be32(entry + block, wqe_stamp);
    cache::clean(entry, stride_);
  }
  return {};
}

namespace {

constexpr request_flags flags_of(const send_request& r) {
  return (r.signaled ? request_flags::signaled : request_flags::none) |
         (r.solicited ? request_flags::solicited : request_flags::none) |
         (r.fence ? request_flags::fence : request_flags::none);
}

/// What a WQE has behind its control segment, and in it.
enum part : unsigned {
  data = 1,
  remote = 2,
  immediate = 4,
  atomic = 8 | data | remote,
  invalidation_key = 16,
  memory = 32
};

struct form {
  wqe_opcode opcode;
  work_opcode completes_as;
  unsigned parts;
  constexpr bool has(part p) const { return (parts & p) == p; }
};

/// Of each send_opcode, in its order.
constexpr form forms[] = {
    {wqe_opcode::send, work_opcode::send, data},
    {wqe_opcode::send_imm, work_opcode::send, data | immediate},
    {wqe_opcode::rdma_write, work_opcode::rdma_write, data | remote},
    {wqe_opcode::rdma_write_imm, work_opcode::rdma_write, data | remote | immediate},
    {wqe_opcode::rdma_read, work_opcode::rdma_read, data | remote},
    {wqe_opcode::atomic_cs, work_opcode::compare_and_swap, atomic},
    {wqe_opcode::atomic_fa, work_opcode::fetch_and_add, atomic},
    {wqe_opcode::nop, work_opcode::nop, 0},
    {wqe_opcode::send_inval, work_opcode::send, data | invalidation_key},
    {wqe_opcode::fast_register, work_opcode::fast_register, memory},
    {wqe_opcode::local_invalidate, work_opcode::local_invalidate, memory},
    {wqe_opcode::masked_atomic_cs, work_opcode::masked_compare_and_swap, atomic},
    {wqe_opcode::masked_atomic_fa, work_opcode::masked_fetch_and_add, atomic},
};
static_assert(sizeof forms / sizeof forms[0] ==
              static_cast<std::size_t>(send_opcode::masked_fetch_and_add) + 1);

}  // namespace

status sq::post(const send_request& r) {
  // Sends and RDMA writes of one entry that has bytes are what programs post most: they have the
  // speed of typed posts. One function posts all others: a typed post for each would be ten times
  // its size.
  if (r.entries == 1 && r.list != nullptr && r.to == nullptr && r.inline_bytes == nullptr &&
      r.inline_length == 0) {
    not_told none;
    const request_flags flags = flags_of(r);
    const remote_memory remote{r.remote_address, r.rkey};
    if (r.opcode == send_opcode::rdma_write
            ? post_at_once(none, rdma_write{r.wr_id, remote, r.list[0]}, flags)
            : r.opcode == send_opcode::send && post_at_once(none, send{r.wr_id, r.list[0]}, flags))
      return {};
  }
  return post_any(r);
}

status sq::post_any(const send_request& r) {
  const auto opcode = static_cast<std::size_t>(r.opcode);
  if (opcode >= sizeof forms / sizeof forms[0]) return driver_error::unsupported;
  const form& f = forms[opcode];
  const bool is_send = f.completes_as == work_opcode::send, to_a_peer = is_send && r.to != nullptr;
  const bool by_xrc = !to_a_peer && (opcodes_ & xrc_opcode_bit(f.opcode)) != 0;
  if (!by_xrc &&
      (opcodes_ & (to_a_peer ? datagram_opcode_bit(f.opcode) : opcode_bit(f.opcode))) == 0)
    return is_open() ? driver_error::unsupported : driver_error::bad_state;
  if (by_xrc && r.remote_srqn > wqe_ctrl{}.remote_srqn.mask()) return driver_error::bad_argument;
  if (to_a_peer && r.remote_qpn > wqe_datagram{}.dqpn.mask()) return driver_error::bad_argument;
  const bool is_inline = r.inline_bytes != nullptr;
  if (is_inline ? r.entries != 0 || brings_data(f.completes_as) : r.inline_length != 0)
    return driver_error::bad_argument;
  if ((!f.has(data) && (r.entries != 0 || is_inline)) || (r.list == nullptr && r.entries != 0))
    return driver_error::bad_argument;
  const bool registers = r.opcode == send_opcode::fast_register;
  if (registers && (r.memory == nullptr || !is_sound(*r.memory))) return driver_error::bad_argument;
  std::uint64_t bytes = r.inline_length;
  unsigned entries = 0;
  if (!add_up(r.list, r.entries, bytes, entries) || entries > most_gather_ ||
      bytes > (is_inline ? most_inline_ : most_message_bytes_) ||
      (f.has(atomic) && (bytes != 8 || entries != 1)))
    return driver_error::bad_argument;

  if (next_.at == next_.end) FREEHCA_TRY(prepare());
  std::byte* const wqe = next_.at;
  ++head_;
  next_.slot->begin(r.wr_id, f.completes_as,
                    brings_data(f.completes_as) ? static_cast<std::uint32_t>(bytes) : 0);
  std::uint32_t at = wqe_ctrl::bytes;
  if (to_a_peer) {
    store_datagram(wqe + at, {r.to, r.remote_qpn, r.qkey});
    at += wqe_datagram::bytes;
  }
  if (f.has(remote)) {
    store_remote(wqe + at, remote_memory{r.remote_address, r.rkey});
    at += wqe_remote_address::bytes;
  }
  if (f.has(atomic)) {
    dma::store_be64(wqe + at + wqe_atomic{}.swap_add.offset, r.swap_or_add);
    dma::store_be64(wqe + at + wqe_atomic{}.compare.offset,
                    r.opcode == send_opcode::fetch_and_add          ? 0
                    : r.opcode == send_opcode::masked_fetch_and_add ? r.swap_or_add_mask
                                                                    : r.compare);
    if (r.opcode == send_opcode::masked_compare_and_swap) {
      store_masks(wqe + at, r.swap_or_add_mask, r.compare_mask);
      at += wqe_masked_atomic::bytes - wqe_atomic::bytes;
    }
    at += wqe_atomic::bytes;
  }
  if (f.has(memory))
    at += registers ? store_memory(wqe + at, *r.memory)
                    : store_memory(wqe + at, invalidation{r.rkey});
  at = is_inline ? store_inline(wqe, at, {r.inline_bytes, r.inline_length})
                 : store_list(wqe, at, {r.list, r.entries}, entries);
  std::uint64_t second = 0;
  if (f.has(immediate)) second = in_word<&wqe_ctrl::immediate>(r.immediate);
  if (f.has(invalidation_key)) second = in_word<&wqe_ctrl::immediate>(r.rkey);
  if (by_xrc) second |= in_word<&wqe_ctrl::remote_srqn>(r.remote_srqn);
  if (f.has(memory)) second = in_word<&wqe_ctrl::strong_order>(1);
  give_away(wqe, at,
            next_.owner | in_first_word(flags_of(r)) |
                swap_be(in_word<&wqe_ctrl::opcode>(static_cast<std::uint64_t>(f.opcode)) |
                        in_word<&wqe_ctrl::ds>(at / wqe_unit)),
            flags_of(r), second);
  next_.at = wqe + stride_;
  ++next_.slot;
  return {};
}

}  // namespace freehca::queues
