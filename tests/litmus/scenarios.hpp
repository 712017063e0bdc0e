// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the tests of memory order run: the headers that ship (hal/atomics.hpp, hal/crossing.hpp,
// hca/event_relay.hpp), over atomics of the tests' own. Each scenario is a few threads on one
// object. thread(i) returns the outcome of thread i, and wrong() names the outcomes that no order
// of the accesses may have.
//
// `Policy` has atomic<T> and fence() as freehca::atomics has them; plain<T>, which is a variable
// that is no atomic, with get() and set(); and thread(), the number of the running thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <freehca/hal/atomics.hpp>
#include <freehca/hal/crossing.hpp>
#include <freehca/hca/event_relay.hpp>

namespace freehca::litmus {

constexpr unsigned wrong_content = 1u << 31;

/// A crossing with content, which arrives with what was written before it was put.
template <class Policy>
struct letter : basic_crossing<Policy> {
  letter() {
    this->arrive = [](basic_crossing<Policy>& c) noexcept {
      auto& l = static_cast<letter&>(c);
      ++l.arrivals;
      l.read = l.content.get();
    };
  }
  typename Policy::template plain<unsigned> content{0};
  // The owner's.
  unsigned arrivals = 0;
  unsigned read = 0;
};

/// Letters in one inbox. They have crossed before, so their links still lead where they did.
template <class Policy, unsigned Letters>
struct mail_of_letters {
  basic_inbox<Policy> mail;
  std::array<letter<Policy>, Letters> letters;

  mail_of_letters() {
    for (letter<Policy>& l : letters) mail.put(l);
    mail.take();
    for (letter<Policy>& l : letters) l.arrivals = 0;
  }
  void send(unsigned i) {
    letters[i].content.set(i + 1);
    mail.put(letters[i]);
  }
  /// A bit for each letter that has come, and wrong_content.
  unsigned receive(unsigned limit) {
    mail.take(limit);
    unsigned come = 0;
    for (unsigned i = 0; i < Letters; ++i) {
      if (letters[i].arrivals == 0) continue;
      come |= 1u << i;
      if (letters[i].read != i + 1) come |= wrong_content;
    }
    return come;
  }
  /// Behind all threads: each letter has come once.
  bool complete() {
    const unsigned come = receive(Letters);
    for (const letter<Policy>& l : letters)
      if (l.arrivals != 1) return false;
    return come == (1u << Letters) - 1;
  }
};

/// Two threads put, and the owner takes.
template <class Policy>
struct two_senders : mail_of_letters<Policy, 2> {
  static constexpr const char* name = "two senders";
  static constexpr unsigned threads = 3;
  using outcomes = std::array<unsigned, threads>;

  unsigned thread(unsigned i) {
    if (i == 2) return this->receive(Policy::limit(2, 1));
    this->send(i);
    return 0;
  }
  static bool wrong(const outcomes& o) { return (o[2] & wrong_content) != 0; }
};

/// One thread puts twice, and the owner takes. The second letter never comes alone.
template <class Policy>
struct one_sender : mail_of_letters<Policy, 2> {
  static constexpr const char* name = "one sender";
  static constexpr unsigned threads = 2;
  using outcomes = std::array<unsigned, threads>;

  unsigned thread(unsigned i) {
    if (i == 1) return this->receive(2);
    this->send(0);
    this->send(1);
    return 0;
  }
  static bool wrong(const outcomes& o) { return (o[1] & wrong_content) != 0 || o[1] == 2; }
};

/// An inbox whose owner sleeps, with a count of the calls that wake it.
template <class Policy, unsigned Threads>
struct sleeper {
  basic_inbox<Policy> mail;
  std::array<unsigned, Threads> wakes{};

  sleeper() {
    mail.open([](void* self) noexcept { ++static_cast<sleeper*>(self)->wakes[Policy::thread()]; },
              this);
  }
};

/// Thread 0 has something for the owner elsewhere and says so. Thread 1 says so for another reason.
/// The owner goes to sleep. It does not sleep on what thread 0 has, and only one thread wakes it.
template <class Policy>
struct two_notify : sleeper<Policy, 3> {
  static constexpr const char* name = "two notify";
  static constexpr unsigned threads = 3;
  using outcomes = std::array<unsigned, threads>;
  typename Policy::template atomic<unsigned> elsewhere{0};

  unsigned thread(unsigned i) {
    if (i == 2) {
      return this->mail.prepare_to_sleep() && elsewhere.load(std::memory_order_relaxed) == 0;
    }
    if (i == 0) elsewhere.store(1, std::memory_order_relaxed);
    this->mail.notify();
    return this->wakes[i];
  }
  static bool wrong(const outcomes& o) {
    const unsigned wakes = o[0] + o[1];
    return (o[2] == 1 && wakes == 0) || wakes > 1;
  }
  bool complete() { return true; }
};

/// A thread puts, and the owner goes to sleep: it sees that something has come, or is woken.
template <class Policy>
struct put_to_sleeper : sleeper<Policy, 2> {
  static constexpr const char* name = "put to a sleeper";
  static constexpr unsigned threads = 2;
  using outcomes = std::array<unsigned, threads>;
  letter<Policy> sent;

  unsigned thread(unsigned i) {
    if (i == 1) return this->mail.prepare_to_sleep();
    this->mail.put(sent);
    return this->wakes[0];
  }
  static bool wrong(const outcomes& o) { return o[1] == 1 && o[0] == 0; }
  bool complete() { return this->mail.take() == 1; }
};

/// An event of the relay: one word.
template <class Policy>
struct event_word {
  event_word() = default;
  explicit event_word(unsigned value) { word.set(value); }
  event_word(const event_word&) = delete;
  event_word& operator=(const event_word& other) {
    word.set(other.word.get());
    return *this;
  }
  typename Policy::template plain<unsigned> word{0};
};

/// One thread puts two events into a relay, and another takes: what it takes is whole and in order.
/// With one place, the second event is put when the first was taken, or is dropped.
template <class Policy, unsigned Places>
struct events : basic_event_relay<Policy, event_word<Policy>, Places> {
  using relay = basic_event_relay<Policy, event_word<Policy>, Places>;
  static constexpr const char* name = Places == 1 ? "events, one place" : "events, two places";
  static constexpr unsigned threads = 2;
  using outcomes = std::array<unsigned, threads>;
  alignas(16) std::array<std::byte, 64> storage{};
  static_assert(relay::storage_bytes() <= 64);

  events() { this->open(storage.data()); }
  ~events() {
    for (unsigned i = 0; i < Places; ++i)
      storage_for<event_word<Policy>>(storage.data())[i].~event_word();
  }
  unsigned thread(unsigned i) {
    if (i == 0) {
      for (unsigned number = 1; number <= 2; ++number) this->put(event_word<Policy>{number});
      return 0;
    }
    for (unsigned number = 1; number <= 2; ++number) {
      event_word<Policy> taken;
      if (!this->take(taken)) return 0;
      if (taken.word.get() != number) return wrong_content;
    }
    return 0;
  }
  static bool wrong(const outcomes& o) { return o[1] == wrong_content; }
  bool complete() { return Places == 1 || this->dropped() == 0; }
};
template <class Policy>
struct events_one_place : events<Policy, 1> {};
template <class Policy>
struct events_two_places : events<Policy, 2> {};

/// A handler notes the interrupt of an event: an owner that sees the interrupt finds the event.
template <class Policy>
struct interrupt {
  static constexpr const char* name = "interrupt";
  static constexpr unsigned threads = 2;
  using outcomes = std::array<unsigned, threads>;
  typename Policy::template plain<unsigned> event{0};
  interrupt_count<Policy> interrupts;

  unsigned thread(unsigned i) {
    if (i == 1) return interrupts.see() && event.get() == 0;
    event.set(1);
    interrupts.note();
    return 0;
  }
  static bool wrong(const outcomes& o) { return o[1] == 1; }
  bool complete() { return interrupts.noted() == 1; }
};

/// The same with the device (0) and the handler (1) apart. The device writes an event and then its
/// message. That the handler runs because of the message is taken for no order at all, which the
/// orders of C++ do not allow: so this one is of machines alone.
template <class Policy>
struct device_interrupt {
  static constexpr const char* name = "interrupt of a device";
  static constexpr unsigned threads = 3;
  using outcomes = std::array<unsigned, threads>;
  typename Policy::template plain<unsigned> event{0}, message{0};
  interrupt_count<Policy> interrupts;

  unsigned thread(unsigned i) {
    switch (i) {
      case 0:
        event.set(1);
        Policy::fence(std::memory_order_seq_cst);  // the bus keeps the order of its writes
        message.set(1);
        return 0;
      case 1: {
        const unsigned interrupted = message.get();
        interrupts.note();
        return interrupted;
      }
      default:
        return interrupts.see() && event.get() == 0;
    }
  }
  static bool wrong(const outcomes& o) { return o[1] == 1 && o[2] == 1; }
};

}  // namespace freehca::litmus
