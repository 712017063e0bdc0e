// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "stand_in.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/wqe.hpp>

namespace freehca::bench {

namespace {

std::byte* pages(std::size_t bytes) {
  void* const memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (memory == nullptr) std::abort();
  return static_cast<std::byte*>(std::memset(memory, 0, bytes));
}

void wants(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "rings: %s\n", what);
  std::exit(1);
}

}  // namespace

stand_in::stand_in(std::uint32_t most_inline, bool datagrams)
    : most_inline_(most_inline),
      datagrams_(datagrams),
      posted_(std::size_t{1} << log_entries),
      receives_(std::size_t{1} << log_entries),
      shared_receives_(std::size_t{1} << log_entries),
      completion_ring_(pages(std::size_t{32} << log_entries)),
      registers_(pages(8192)) {
  shape_.log_entries = log_entries;
  shape_.log_stride = most_inline == 0 && !datagrams ? 6 : 7;
  receive_shape_ = {log_entries, 4};
  shared_shape_ = {log_entries, 5};
  send_ring_ = pages(shape_.bytes());
  receive_ring_ = pages(receive_shape_.bytes());
  shared_ring_ = pages(shared_shape_.bytes());
}

void stand_in::open() {
  pair.qpn = qpn;
  directory_.open(slots_, 64);
  wants(directory_.add(pair).ok(), "the directory refuses the queue pair");
  wants(pair.send
            .open({.ring = {send_ring_, 0, shape_.bytes()},
                   .shape = shape_,
                   .slots = posted_.data(),
                   .uar = {registers_, 4096},
                   .qpn = qpn,
                   .most_gather = 1,
                   .most_inline = most_inline_,
                   .most_message_bytes = std::uint64_t{1} << 30,
                   .opcodes = datagrams_ ? queues::opcodes_of_datagrams()
                                         : queues::opcodes_of_a_connection(true)})
            .ok(),
        "the send queue does not open");
  wants(pair.receive
            .open({.ring = {receive_ring_, 0, receive_shape_.bytes()},
                   .shape = receive_shape_,
                   .slots = receives_.data(),
                   .record = {record_ + 16, 0, 4},
                   .most_scatter = 1})
            .ok(),
        "the receive queue does not open");
  wants(shared
            .open({.ring = {shared_ring_, 0, shared_shape_.bytes()},
                   .shape = shared_shape_,
                   .slots = shared_receives_.data(),
                   .record = {record_ + 32, 0, 4},
                   .most_scatter = 1})
            .ok(),
        "the shared receive queue does not open");
  wants(cq.open({.ring = {completion_ring_, 0, std::size_t{32} << log_entries},
                 .log_entries = log_entries,
                 .entry_bytes = 32,
                 .record = {record_, 0, 8},
                 .uar = {registers_, 4096},
                 .cqn = 3,
                 .queue_pairs = &directory_})
            .ok(),
        "the completion queue does not open");
  pair.send.accept(true);
  pair.receive.accept(true);
  shared.accept(true);
}

void stand_in::complete(unsigned count) {
  using layouts::cqe;
  using layouts::wqe_ctrl;
  for (const std::uint32_t end = completed_ + count; completed_ != end; ++completed_) {
    const std::uint32_t place = completed_ & ((1u << log_entries) - 1);
    const bool lap = (completed_ >> log_entries & 1) != 0;
    const auto wqe = layouts::image<wqe_ctrl>::from_bytes(
        send_ring_ + (std::size_t{place} << shape_.log_stride));
    wants(wqe.get<&wqe_ctrl::owner>() == (lap ? 1 : 0), "a request was not posted");
    layouts::image<cqe> e;
    e.set<&cqe::qpn>(qpn)
        .set<&cqe::byte_count>(64)
        .set<&cqe::wqe_index>(completed_ & 0xffff)
        .set<&cqe::is_send>(true)
        .set<&cqe::opcode>(static_cast<std::uint8_t>(wqe.get<&wqe_ctrl::opcode>()));
    produce(e);
  }
}

void stand_in::complete_receives(unsigned count, bool shared_ones) {
  using layouts::cqe;
  using layouts::wqe_srq_next;
  for (; count != 0; --count) {
    std::uint32_t index = received_ & 0xffff;
    if (shared_ones) {
      index = next_shared_;
      const auto wqe = layouts::image<wqe_srq_next>::from_bytes(
          shared_ring_ + (std::size_t{index} << shared_shape_.log_stride));
      next_shared_ = static_cast<std::uint32_t>(wqe.get<&wqe_srq_next::next_wqe_index>());
    } else {
      ++received_;
    }
    layouts::image<cqe> e;
    e.set<&cqe::qpn>(qpn).set<&cqe::byte_count>(64).set<&cqe::wqe_index>(index).set<&cqe::opcode>(
        static_cast<std::uint8_t>(layouts::cqe_opcode::recv_send));
    produce(e);
  }
}

void stand_in::produce(layouts::image<layouts::cqe> e) {
  using layouts::cqe;
  const std::uint32_t place = produced_ & ((1u << log_entries) - 1);
  e.set<&cqe::owner>((produced_ >> log_entries & 1) != 0);
  std::memcpy(completion_ring_ + std::size_t{place} * 32, e.data(), cqe::bytes);
  ++produced_;
}

}  // namespace freehca::bench
