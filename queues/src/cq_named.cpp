// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/cq.hpp>

namespace freehca::queues {

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
    posted_request changed;
    const posted_request* head = nullptr;
    qp_rings* pair = nullptr;
    const bool passed = cache::is_maintained && is_passed_over(entry);
    if (passed) {
      passed_over_ = 0;
    } else {
      const std::uint32_t qpn = qpn_of(entry);
      pair = names_its_queue(entry, qpn) ? named(context, srqn_of(entry))
                                         : queue_pairs_->look().find(layouts::swap_be(qpn));
    }
    if (pair != nullptr) {
      if (top == top_of(sent)) head = head_of_send(word, *pair, changed);
      else if (top == 0) head = head_of_receive(entry, word, *pair, changed);
      else head = head_of_other(entry, word, *pair, changed);
    }
    if (head != nullptr) {
      fill(to[taken++], *head, *pair, entry, word);
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
