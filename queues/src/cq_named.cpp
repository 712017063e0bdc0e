// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "received.hpp"

namespace freehca::queues {

bool cq::take_receive_of(work_completion& to, std::uint64_t word, const qp_rings& rings) {
  std::byte* const entry = at_;
  if (!decode_receive_of(*rings.shared, to, entry, word, rings)) return false;
  took_one(entry);
  return true;
}

unsigned cq::take_named(work_completion* to, unsigned most, named_rings named, void* context) {
  if (!pending()) return 0;
  unsigned taken = 0;
  std::uint32_t counter = consumer();
  // The second counter ends the loop if the device forges entries without end.
  for (std::uint32_t senseless = 0; taken < most && senseless <= mask_; ++counter) {
    const std::byte* const entry = entry_at(counter);
    cache::invalidate(entry, layouts::cqe::bytes);
    const std::uint64_t word = last_word_of(entry), lap = lap_of(counter);
    if (!is_mine(word, lap)) break;
    const unsigned top = top_of(word ^ lap);
    barrier::dma_load_to_dma_load();
    qp_rings* pair = nullptr;
    const bool passed = cache::is_maintained && is_passed_over(entry);
    if (passed) {
      passed_over_ = 0;
    } else {
      const std::uint32_t qpn = qpn_of(entry);
      pair = names_its_queue(entry, qpn) ? named(context, srqn_of(entry))
                                         : queue_pairs_->look().find(layouts::swap_be(qpn));
    }
    bool complete = false;
    if (pair != nullptr && top == 0) {
      complete = decode_receive(to[taken], entry, word, *pair);
    } else if (pair != nullptr) {
      posted_request changed;
      const posted_request* const head = top == top_of(sent)
                                             ? head_of_send(word, *pair, changed)
                                             : head_of_other(entry, word, *pair, changed);
      complete = head != nullptr;
      if (complete) fill(to[taken], *head, *pair, entry, word);
    }
    if (complete) {
      ++taken;
    } else {
      dropped_ += passed ? 0 : 1;
      ++senseless;
    }
  }
  go_to(counter);
  tell_consumer();
  return taken;
}

}  // namespace freehca::queues
