// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The scenarios in the orders of C++, under Relacy: interleavings and values that a load may
// return, tried one by one. Each order of the headers is then weakened, one at a time, and the
// scenario that finds it is printed. Relacy keeps stores to one object in the order in which they
// were run: a link that is cleared behind its being stored, which is what the two halves of the
// exchange in put() are for, is left to the tests for aarch64 (orders_test.py, which runs this).
#include <relacy/relacy.hpp>
// Relacy's names for programs that it is to take over.
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno

#include <array>
#include <cstdio>
#include <optional>
#include <ostream>
#include <vector>

#include "scenarios.hpp"
#include "sites.hpp"

namespace freehca::litmus {
namespace {

/// What the accesses of one site are, where it is not what the text says.
struct weakening {
  litmus::site site;
  std::memory_order to = std::memory_order_relaxed;
  bool in_two_parts = false;  // an exchange
};
weakening weakened;

struct access {
  litmus::site site;
  std::memory_order order;
  bool exchange;
};
// Of all that was run. Not of the heap, which is Relacy's while it runs a test.
std::array<access, 100> accesses;
unsigned count = 0;

void collect(const access& a) {
  if (a.site.file.empty()) return;
  for (unsigned i = 0; i < count; ++i)
    if (accesses[i].site == a.site) return;
  accesses.at(count++) = a;
}

bool is_weakened(const std::source_location& at) {
  return !weakened.site.file.empty() && site_of(at) == weakened.site;
}

rl::memory_order order_of(std::memory_order order, const std::source_location& at,
                          bool exchange = false) {
  if (weakened.site.file.empty()) collect({site_of(at), order, exchange});
  if (is_weakened(at) && !weakened.in_two_parts) order = weakened.to;
  switch (order) {
    case std::memory_order_relaxed:
      return rl::mo_relaxed;
    case std::memory_order_acquire:
      return rl::mo_acquire;
    case std::memory_order_release:
      return rl::mo_release;
    case std::memory_order_acq_rel:
      return rl::mo_acq_rel;
    default:
      return rl::mo_seq_cst;
  }
}

rl::debug_info place(const std::source_location& at) {
  return {at.function_name(), at.file_name(), at.line()};
}

struct checked {
  using here = std::source_location;

  template <class T>
  class atomic {
   public:
    atomic(T value) { value_.store(value, rl::mo_relaxed, place(here::current())); }
    T load(std::memory_order order, here at = here::current()) const {
      return value_.load(order_of(order, at), place(at));
    }
    void store(T value, std::memory_order order, here at = here::current()) {
      value_.store(value, order_of(order, at), place(at));
    }
    T exchange(T value, std::memory_order order, here at = here::current()) {
      const rl::memory_order o = order_of(order, at, true);
      if (is_weakened(at) && weakened.in_two_parts) {
        const T before = value_.load(rl::mo_acquire, place(at));
        value_.store(value, rl::mo_release, place(at));
        return before;
      }
      return value_.rmw(rl::rmw_type_t<rl::rmw_type_swap>(), value, o, place(at));
    }

   private:
    rl::atomic<T> value_;
  };

  template <class T>
  class plain {
   public:
    explicit plain(T value) { set(value); }
    T get(here at = here::current()) const { return value_(place(at)); }
    void set(T value, here at = here::current()) { value_(place(at)) = value; }

   private:
    rl::var<T> value_;
  };

  static void fence(std::memory_order order, here at = here::current()) {
    const rl::memory_order o = order_of(order, at);
    if (o != rl::mo_relaxed) rl::atomic_thread_fence(o, place(at));
  }
  static unsigned thread() { return rl::thread_index(); }
  static constexpr unsigned limit(unsigned most, unsigned) { return most; }
};

template <class Scenario>
struct suite : rl::test_suite<suite<Scenario>, Scenario::threads> {
  std::optional<Scenario> scenario;
  typename Scenario::outcomes outcomes{};

  void before() { scenario.emplace(); }
  void thread(unsigned i) { outcomes[i] = scenario->thread(i); }
  void after() {
    RL_ASSERT(!Scenario::wrong(outcomes));
    RL_ASSERT(scenario->complete());
    scenario.reset();
  }
};

struct result {
  bool holds;
  unsigned executions;
};

/// `switches`: how often a thread is left before it is done; 0: all interleavings.
template <template <class> class Scenario, unsigned Switches>
result run() {
  std::ostream quiet(nullptr);
  rl::test_params how_far;
  how_far.search_type = Switches == 0 ? rl::sched_full : rl::sched_bound;
  how_far.context_bound = Switches;
  how_far.output_stream = &quiet;
  how_far.progress_stream = &quiet;
  const bool holds = rl::simulate<suite<Scenario<checked>>>(how_far);
  return {holds, static_cast<unsigned>(how_far.stop_iteration)};
}

struct test {
  const char* name;
  std::string_view how;
  result (*whole)();
  result (*quick)();  // for what is weakened
};
template <template <class> class Scenario, unsigned Switches = 0, unsigned Quickly = Switches>
constexpr test test_of(std::string_view how) {
  return {Scenario<checked>::name, how, run<Scenario, Switches>, run<Scenario, Quickly>};
}
constexpr std::string_view all = "all interleavings";
// Those whose quick run ends soonest first.
constexpr std::array tests{
    test_of<interrupt>(all),
    test_of<put_to_sleeper>(all),
    test_of<events_one_place>(all),
    test_of<events_two_places>(all),
    test_of<one_sender, 0, 4>(all),
    test_of<two_notify, 0, 4>(all),
    test_of<two_senders, 5, 3>("five switches"),
};

/// All that is one step weaker, and a fence that is none.
std::vector<weakening> weakenings(const access& is) {
  const auto to = [&](std::memory_order order) { return weakening{is.site, order}; };
  std::vector<weakening> all;
  if (is.order == std::memory_order_seq_cst)
    all = {to(std::memory_order_acq_rel), to(std::memory_order_relaxed)};
  else if (is.order == std::memory_order_acq_rel)
    all = {to(std::memory_order_acquire), to(std::memory_order_release)};
  else if (is.order != std::memory_order_relaxed) all = {to(std::memory_order_relaxed)};
  if (is.exchange) all.push_back({is.site, is.order, true});
  return all;
}

/// The name of the first scenario that fails.
const char* failing() {
  for (const test& t : tests)
    if (!t.quick().holds) return t.name;
  return "-";
}

/// Returns how many scenarios fail as the headers are. The lines that begin with "weakened" are for
/// orders_test.py.
int run_all() {
  int failed = 0;
  for (const test& t : tests) {
    const result r = t.whole();
    std::printf("%s: %s after %u executions (%s)\n", t.name, r.holds ? "holds" : "FAILS",
                r.executions, t.how.data());
    std::fflush(stdout);
    failed += r.holds ? 0 : 1;
  }
  if (failed != 0) return failed;
  for (unsigned i = 0; i < count; ++i) {
    const access& is = accesses[i];
    for (const weakening& w : weakenings(is)) {
      weakened = w;
      std::printf("weakened\t%.*s:%u:%u\t%s\t%s\t%s\n", static_cast<int>(is.site.file.size()),
                  is.site.file.data(), is.site.line, is.site.column, name_of(is.order),
                  w.in_two_parts ? "in two parts" : name_of(w.to), failing());
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace freehca::litmus

int main() {
  return freehca::litmus::run_all() == 0 ? 0 : 1;
}
