// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The litmus tests of the crossing (hal/crossing.hpp) once more, in the orders of C++: all
// interleavings and all values that a load may return, tried by Relacy. An atomic access that is
// weaker than planned must be found out. Relacy keeps stores to one object in the order in which
// they were run: a link that is cleared behind its being stored, which is what the order of the
// exchange in put() is for, is left to the tests for aarch64.
#include <relacy/relacy.hpp>

#include <cstdio>
#include <ostream>

namespace {

/// Which access is weaker than planned, counted from 1 in the order of the text; 0: none.
template <int Weaker>
struct orders {
  static constexpr rl::memory_order or_relaxed(int which, rl::memory_order planned) {
    return which == Weaker ? rl::mo_relaxed : planned;
  }
};

/// put() of two producers, and a consumer that takes what is linked.
template <int Weaker>
struct put : rl::test_suite<put<Weaker>, 3>, orders<Weaker> {
  struct node {
    rl::atomic<node*> next;
    rl::var<int> content;
  };
  node stub, nodes[2];
  rl::atomic<node*> tail;

  void before() {
    stub.next($).store(nullptr, rl::mo_relaxed);
    tail($).store(&stub, rl::mo_relaxed);
  }
  void thread(unsigned who) {
    if (who < 2) {
      nodes[who].content($) = 1 + static_cast<int>(who);
      nodes[who].next($).store(nullptr, rl::mo_relaxed);
      node* const last = tail($).exchange(&nodes[who], rl::mo_acq_rel);
      last->next($).store(&nodes[who], this->or_relaxed(1, rl::mo_release));
      return;
    }
    node* at = &stub;
    for (int i = 0; i < 2; ++i) {
      at = at->next($).load(this->or_relaxed(2, rl::mo_acquire));
      if (at == nullptr) return;
      RL_ASSERT(at->content($) == 1 + static_cast<int>(at - nodes));
    }
  }
};

/// Two that ask and one that prepares to sleep: none sleeps on a request, and one alone wakes.
template <int Weaker>
struct sleep_rule : rl::test_suite<sleep_rule<Weaker>, 3>, orders<Weaker> {
  rl::atomic<int> requests[2];
  rl::atomic<int> asleep;
  int wakes[2] = {};
  bool sleeps_on_one = false;

  void before() {
    for (rl::atomic<int>& r : requests) r($).store(0, rl::mo_relaxed);
    asleep($).store(0, rl::mo_relaxed);
    wakes[0] = wakes[1] = 0;
    sleeps_on_one = false;
  }
  void thread(unsigned who) {
    if (who < 2) {
      requests[who]($).store(1, rl::mo_release);
      if (Weaker != 1) rl::atomic_thread_fence(rl::mo_seq_cst, $);
      if (asleep($).load(rl::mo_relaxed) == 0) return;
      if (Weaker == 3) {
        asleep($).store(0, rl::mo_relaxed);
        wakes[who] = 1;
      } else {
        wakes[who] = asleep($).exchange(0, rl::mo_relaxed);
      }
      return;
    }
    asleep($).store(1, rl::mo_relaxed);
    if (Weaker != 2) rl::atomic_thread_fence(rl::mo_seq_cst, $);
    for (rl::atomic<int>& r : requests) sleeps_on_one |= r($).load(rl::mo_acquire) == 0;
  }
  void after() {
    // Both requests were made by now: whoever missed one must have been woken.
    RL_ASSERT(!sleeps_on_one || wakes[0] + wakes[1] != 0);
    RL_ASSERT(wakes[0] + wakes[1] <= 1);
  }
};

/// The note of an interrupt, and what the handler knew when it took it.
template <int Weaker>
struct note : rl::test_suite<note<Weaker>, 2>, orders<Weaker> {
  rl::var<int> event;
  rl::atomic<unsigned> notes;

  void before() { notes($).store(0, rl::mo_relaxed); }
  void thread(unsigned who) {
    if (who == 0) {
      event($) = 1;
      notes($).store(notes($).load(rl::mo_relaxed) + 1, this->or_relaxed(1, rl::mo_release));
    } else if (notes($).load(this->or_relaxed(2, rl::mo_acquire)) == 1) {
      RL_ASSERT(event($) == 1);
    }
  }
};

/// 1 when the outcome is not the one that is wanted.
template <class Suite>
int check(const char* what, bool wanted) {
  std::ostream quiet(nullptr);
  rl::test_params how_far;
  how_far.search_type = rl::sched_full;
  how_far.output_stream = &quiet;
  how_far.progress_stream = &quiet;
  const bool holds = rl::simulate<Suite>(how_far);
  std::printf("%s: %s after %u executions%s\n", what, holds ? "holds" : "fails",
              static_cast<unsigned>(how_far.stop_iteration), holds == wanted ? "" : " (WRONG)");
  std::fflush(stdout);
  return holds == wanted ? 0 : 1;
}

}  // namespace

int main() {
  return check<put<0>>("put", true) + check<put<1>>("put, link relaxed", false) +
         check<put<2>>("put, look relaxed", false) + check<sleep_rule<0>>("sleep rule", true) +
         check<sleep_rule<1>>("sleep rule, asker without a fence", false) +
         check<sleep_rule<2>>("sleep rule, sleeper without a fence", false) +
         check<sleep_rule<3>>("sleep rule, exchange in two parts", false) +
         check<note<0>>("note", true) + check<note<1>>("note, taken relaxed", false) +
         check<note<2>>("note, read relaxed", false);
}
