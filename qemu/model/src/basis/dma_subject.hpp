// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca::model {

/// What a DMA of the adapter is about, for those who read a recording (docs/recording.md).
enum class dma_kind : std::uint8_t {
  unknown,
  mailbox,         ///< of a command: what is read is its input, what is written its output
  context_memory,  ///< `of` is the address in ICM
  lent_memory,     ///< what is written over memory that the host lends
  eqe,             ///< `of` is the EQN, `index` the producer counter
  cqe,             ///< the CQN, the producer counter
  send_wqe,        ///< the QPN, the counter of the WQE
  receive_wqe,     ///< the same
  srq_wqe,         ///< the SRQN, the index of the WQE
  cq_record,       ///< the doorbell record; the CQN
  receive_record,  ///< the QPN
  srq_record,      ///< the SRQN
  data,            ///< of work requests and packets; `of` is the key
  queue_buffer,    ///< entries that nothing is told by yet: ownership alone
  page_list,       ///< of a fast registration; `of` is the key
};

constexpr const char* name_of(dma_kind k) {
  switch (k) {
    case dma_kind::unknown:
      return "unknown";
    case dma_kind::mailbox:
      return "mailbox";
    case dma_kind::context_memory:
      return "context_memory";
    case dma_kind::lent_memory:
      return "lent_memory";
    case dma_kind::eqe:
      return "eqe";
    case dma_kind::cqe:
      return "cqe";
    case dma_kind::send_wqe:
      return "send_wqe";
    case dma_kind::receive_wqe:
      return "receive_wqe";
    case dma_kind::srq_wqe:
      return "srq_wqe";
    case dma_kind::cq_record:
      return "cq_record";
    case dma_kind::receive_record:
      return "receive_record";
    case dma_kind::srq_record:
      return "srq_record";
    case dma_kind::data:
      return "data";
    case dma_kind::queue_buffer:
      return "queue_buffer";
    case dma_kind::page_list:
      return "page_list";
  }
  return "unknown";
}

constexpr bool has_index(dma_kind k) {
  return k == dma_kind::eqe || k == dma_kind::cqe || k == dma_kind::send_wqe ||
         k == dma_kind::receive_wqe || k == dma_kind::srq_wqe;
}

struct dma_subject {
  dma_kind kind = dma_kind::unknown;
  std::uint64_t of = 0;
  std::uint32_t index = 0;
};

}  // namespace freehca::model
