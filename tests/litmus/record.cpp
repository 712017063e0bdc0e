// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Records what each thread of each scenario does: its loads and stores with their orders, its
// fences, and its outcome. A load returns each value that some thread may have stored in its
// location, so there is a record for each way through the thread's code. records.py asks the model
// of aarch64 which of them fit together. A record has no dependencies, which only make more orders.
//
// Prints JSON. Locations are numbers, values are the words that were stored.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <new>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "scenarios.hpp"
#include "sites.hpp"

namespace freehca::litmus {
namespace {

using word = std::uint64_t;

struct event {
  char kind;  // R, W; F: a fence
  unsigned location;
  word value;
  std::memory_order order;
  bool of_exchange;
  litmus::site site;
};

struct location {
  unsigned number;
  word (*value)(const void* cell);
};

struct recorder {
  std::map<const void*, location> locations;  // of the scenario that is constructed
  std::map<unsigned, std::map<unsigned, std::set<word>>> stored;  // of each location, by thread
  std::vector<word> own;  // of each location: the last that the thread has stored, or the first
  std::vector<event> events;
  bool recording = false;
  unsigned thread = 0;
  // The way that is taken: of each load, which of the values; and how many there are.
  std::vector<std::pair<unsigned, unsigned>> way;
  unsigned loads = 0;

  /// The thread's own last store, or one of another thread. `not_this`: an exchange of links never
  /// finds the link that it stores, for no crossing is put twice at a time.
  word choose(unsigned location, const word* not_this = nullptr) {
    std::set<word> values{own[location]};
    for (const auto& [other, stores] : stored[location])
      if (other != thread) values.insert(stores.begin(), stores.end());
    if (not_this != nullptr) values.erase(*not_this);
    if (loads == way.size()) way.push_back({0, static_cast<unsigned>(values.size())});
    return *std::next(values.begin(), way[loads++].first);
  }
  /// False: all ways have been taken.
  bool next_way() {
    loads = 0;
    while (!way.empty() && ++way.back().first == way.back().second) way.pop_back();
    return !way.empty();
  }
  void note(const event& e) {
    events.push_back(e);
    if (e.kind == 'W') own[e.location] = e.value;
    if (events.size() > 100) std::abort();  // a thread that does not end
  }
};
recorder now;

template <class T>
word to_word(T value) {
  if constexpr (std::is_pointer_v<T>) return reinterpret_cast<std::uintptr_t>(value);
  else return static_cast<word>(value);
}
template <class T>
T from_word(word value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<T>(static_cast<std::uintptr_t>(value));
  else return static_cast<T>(value);
}

struct recorded {
  using here = std::source_location;

  /// A variable of the scenario; one that a running thread makes for itself is not recorded.
  template <class T>
  class cell {
   public:
    explicit cell(T value) : value_(value) {
      if (now.recording) return;
      const auto number = static_cast<unsigned>(now.locations.size());
      now.locations.insert({this, {number, [](const void* at) {
                                     return to_word(static_cast<const cell*>(at)->value_);
                                   }}});
    }
    T load(std::memory_order order, const here& at) const {
      return is_shared() ? from_word<T>(load(order, at, false, nullptr)) : value_;
    }
    void store(T value, std::memory_order order, const here& at) {
      if (is_shared()) note('W', to_word(value), order, false, at);
      else value_ = value;
    }
    T exchange(T value, std::memory_order order, const here& at) {
      if (!is_shared()) return std::exchange(value_, value);
      const word stored = to_word(value);
      const T before =
          from_word<T>(load(order, at, true, std::is_pointer_v<T> ? &stored : nullptr));
      note('W', stored, order, true, at);
      return before;
    }

   private:
    bool is_shared() const { return now.recording && now.locations.contains(this); }
    word load(std::memory_order order, const here& at, bool of_exchange,
              const word* not_this) const {
      const word value = now.choose(now.locations.at(this).number, not_this);
      note('R', value, order, of_exchange, at);
      return value;
    }
    void note(char kind, word value, std::memory_order order, bool of_exchange,
              const here& at) const {
      now.note({kind, now.locations.at(this).number, value, order, of_exchange, site_of(at)});
    }
    T value_;
  };

  template <class T>
  class atomic {
   public:
    atomic(T value) : cell_(value) {}
    T load(std::memory_order order, here at = here::current()) const {
      return cell_.load(order, at);
    }
    void store(T value, std::memory_order order, here at = here::current()) {
      cell_.store(value, order, at);
    }
    T exchange(T value, std::memory_order order, here at = here::current()) {
      return cell_.exchange(value, order, at);
    }

   private:
    cell<T> cell_;
  };
  template <class T>
  class plain {
   public:
    explicit plain(T value) : cell_(value) {}
    T get(here at = here::current()) const { return cell_.load(std::memory_order_relaxed, at); }
    void set(T value, here at = here::current()) {
      cell_.store(value, std::memory_order_relaxed, at);
    }

   private:
    cell<T> cell_;
  };

  static void fence(std::memory_order order, here at = here::current()) {
    if (now.recording) now.note({'F', 0, 0, order, false, site_of(at)});
  }
  static unsigned thread() { return now.thread; }
  static constexpr unsigned limit(unsigned, unsigned least) { return least; }
};

struct record {
  std::vector<event> events;
  unsigned outcome;
};

std::string text_of(const event& e) {
  std::string text = std::string("[\"") + e.kind + "\"," + std::to_string(e.location) + "," +
                     std::to_string(e.value) + ",\"" + name_of(e.order) + "\"," +
                     (e.of_exchange ? "1" : "0") + ",\"";
  if (!e.site.file.empty())
    text += std::string(e.site.file) + ":" + std::to_string(e.site.line) + ":" +
            std::to_string(e.site.column);
  return text + "\"]";
}

template <class Items, class Text>
std::string list_of(const Items& items, Text text) {
  std::string all = "[";
  for (const auto& item : items) all += (all.size() > 1 ? "," : "") + text(item);
  return all + "]";
}
std::string number(word value) {
  return std::to_string(value);
}

template <class Scenario>
class recording {
 public:
  recording() {
    construct();
    initial_.resize(now.locations.size());
    for (const auto& [at, place] : now.locations) initial_[place.number] = place.value(at);
    for (bool more = true; more;) {
      const auto before = now.stored;
      for (unsigned i = 0; i < Scenario::threads; ++i) records_[i] = ways_through(i);
      for (unsigned i = 0; i < Scenario::threads; ++i)
        for (const record& r : records_[i])
          for (const event& e : r.events)
            if (e.kind == 'W') now.stored[e.location][i].insert(e.value);
      more = now.stored != before;
    }
    letters();
    scenario_->~Scenario();
    now = {};
  }

  std::string text() const {
    std::vector<std::string> threads;
    for (const auto& records : records_)
      threads.push_back(list_of(records, [](const record& r) {
        return "{\"outcome\":" + number(r.outcome) + ",\"events\":" + list_of(r.events, text_of) +
               "}";
      }));
    std::vector<typename Scenario::outcomes> wrong;
    typename Scenario::outcomes tried{};
    collect_wrong(0, tried, wrong);
    return std::string("{\"name\":\"") + Scenario::name +
           "\",\"initial\":" + list_of(initial_, number) +
           ",\"wrong\":" + list_of(wrong, [](const auto& o) { return list_of(o, number); }) +
           ",\"letters\":" + list_of(letters_, number) +
           ",\"threads\":" + list_of(threads, [](const std::string& t) { return t; }) + "}";
  }

 private:
  void construct() {
    if (scenario_ != nullptr) scenario_->~Scenario();
    now.locations.clear();
    scenario_ = new (storage_) Scenario;
  }
  std::vector<record> ways_through(unsigned thread) {
    std::vector<record> all;
    now.way.clear();
    do {
      construct();
      now.events.clear();
      now.own = initial_;
      now.thread = thread;
      now.loads = 0;
      now.recording = true;
      const unsigned outcome = scenario_->thread(thread);
      now.recording = false;
      all.push_back({now.events, outcome});
    } while (now.next_way());
    return all;
  }
  void collect_wrong(unsigned thread, typename Scenario::outcomes& tried,
                     std::vector<typename Scenario::outcomes>& wrong) const {
    if (thread == Scenario::threads) {
      if (Scenario::wrong(tried)) wrong.push_back(tried);
      return;
    }
    std::set<unsigned> outcomes;
    for (const record& r : records_[thread]) outcomes.insert(r.outcome);
    for (const unsigned outcome : outcomes) {
      tried[thread] = outcome;
      collect_wrong(thread + 1, tried, wrong);
    }
  }
  void letters() {
    if constexpr (requires { scenario_->letters; }) {
      for (auto& l : scenario_->letters)
        letters_.push_back(to_word(static_cast<basic_crossing<recorded>*>(&l)));
    }
  }

  alignas(64) std::byte storage_[sizeof(Scenario)];
  Scenario* scenario_ = nullptr;
  std::vector<word> initial_;
  std::array<std::vector<record>, Scenario::threads> records_;
  std::vector<word> letters_;
};

template <template <class> class... Scenario>
void print() {
  const std::vector<std::string> all = {recording<Scenario<recorded>>().text()...};
  std::printf("%s\n", list_of(all, [](const std::string& t) { return t; }).c_str());
}

}  // namespace
}  // namespace freehca::litmus

int main() {
  using namespace freehca::litmus;
  print<two_senders, one_sender, two_notify, put_to_sleeper, events_one_place, events_two_places,
        interrupt, device_interrupt>();
}
