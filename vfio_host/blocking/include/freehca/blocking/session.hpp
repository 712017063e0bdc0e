// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// For programs that block: the only place that sleeps.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include <freehca/blocking/host.hpp>
#include <freehca/blocking/words.hpp>
#include <freehca/hca/easy.hpp>

namespace freehca::blocking {

/// An adapter, opened by its address, and a way to wait for what it does. One thread: that of
/// the control owner. Owners with threads of their own (event_verbs) wake it, and wait by
/// host::wait_for().
class session {
  template <class Operation>
  static auto end_of(Operation& op) {
    if constexpr (requires { op.value(); }) return op.value();
    else return op.outcome();
  }

 public:
  /// `address`: as open_host() takes it.
  explicit session(const std::string& address, const easy::sizes& wanted = {}) : session(wanted) {
    own_ = open_host(address, device::dma_bytes(wanted.budget), trouble_);
    host_ = own_.get();
    if (host_ == nullptr) return;
    if (const status opened = open(); !opened.ok()) trouble_ = words(opened);
  }
  /// In a host of the program's own, which outlives the session. What comes next is open().
  explicit session(blocking::host& in, const easy::sizes& wanted = {}) : session(wanted) {
    host_ = &in;
  }
  /// Takes down what is still up and has not refused to go down. No operation is under way. In a
  /// forked child the adapter is the parent's, and is left alone.
  ~session() {
    if (is_in_child()) return;
    if (adapter_.hardware().state() > device_state::down && !refused_)
      static_cast<void>(tear_down());
    adapter_.~adapter();
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Outcomes: adapter::open(); driver_error::no_memory, budget::item::storage: the system did not
  /// give the driver its memory. `take_over`: device_setup::take_over. `events`:
  /// easy::setup::events.
  status open(bool take_over = false, const verbs_events& events = {}) {
    if (!storage_) return status(driver_error::no_memory, unsigned(budget::item::storage));
    return adapter_.open({.platform = host_->platform(),
                          .size = size_,
                          .storage = storage_.get(),
                          .storage_bytes = easy::adapter::storage_bytes(size_),
                          .take_over = take_over,
                          .wake = &wake,
                          .wake_context = host_,
                          .events = events});
  }
  /// What an operation of this adapter ended with, in words: of a budget that ran out also its
  /// name, its size and what is in use; of a bring-up the step that failed, and why.
  std::string words(status s) { return blocking::words(s, adapter_.hardware(), size_); }
  /// Why the adapter at the address could not be opened; empty: it is open.
  const std::string& trouble() const { return trouble_; }
  easy::adapter& adapter() { return adapter_; }
  blocking::host& host() { return *host_; }
  const easy::sizes& size() const { return size_; }

  /// Sleeps and polls until the operation or task is done, and cancels it when the host is
  /// interrupted. Gives its result, or its outcome if it brings nothing.
  template <class Operation>
  auto wait(Operation&& op) {
    for (bool told = false; !op.done(); turn()) {
      if (told || !host_->interrupted()) continue;
      op.cancel();
      told = true;
    }
    return end_of(op);
  }
  /// The same for what gives something back: an interruption is why it runs, not why it should
  /// stop.
  template <class Operation>
  auto finish(Operation&& op) {
    while (!op.done()) turn();
    return end_of(op);
  }
  /// Ends in an adapter that holds nothing, also after a failure. Outcomes: adapter::tear_down();
  /// driver_error::bad_state in a forked child.
  status tear_down() {
    if (is_in_child()) return driver_error::bad_state;
    if (adapter_.hardware().state() == device_state::closed) return {};
    const status outcome = finish(adapter_.tear_down());
    refused_ = !outcome.ok();
    return outcome;
  }

  /// Once around: polls, and sleeps until something can have changed.
  void turn() {
    const unsigned ended = poll();
    if (ended > 0 && ++unheard_ < most_unheard) return;
    hear(ended == 0 && may_sleep() ? adapter_.next_deadline() : 0);
  }

  /// For a program with a loop of its own, instead of wait() and turn(): it calls look() until that
  /// gives 0, and then sleeps until descriptor() can be read, or until the adapter's
  /// next_deadline(); when that is 0, it does not sleep.
  int descriptor() { return host_->descriptor(); }
  /// Hears of interrupts and polls, and does not sleep. Returns how much ended by that.
  unsigned look() {
    if (unheard_ == 0 || unheard_ >= most_unheard) hear(0);
    const unsigned ended = poll();
    unheard_ = ended > 0 ? unheard_ + 1 : 0;
    // What another owner asked for since is as good as something that ended: it is looked at first.
    return ended == 0 && !may_sleep() ? 1 : ended;
  }

 private:
  struct release {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{16}); }
  };
  explicit session(const easy::sizes& wanted)
      : size_(wanted),
        storage_(new (std::align_val_t{16}, std::nothrow)
                     std::byte[easy::adapter::storage_bytes(wanted)]) {}

  bool is_in_child() const { return ::getpid() != opened_by_; }
  unsigned poll() {
    if (host_->lost() && !told_) {
      told_ = true;
      adapter_.hardware().lost();
    }
    return adapter_.poll();
  }
  /// False: another owner has asked for something since poll().
  bool may_sleep() { return adapter_.hardware().prepare_to_sleep(); }
  static void wake(void* sleeper) noexcept { static_cast<blocking::host*>(sleeper)->wake(); }
  void hear(std::uint64_t deadline) {
    unheard_ = 0;
    host_->wait(deadline);
  }

  std::string trouble_;
  easy::sizes size_;
  std::unique_ptr<std::byte[], release> storage_;
  std::unique_ptr<blocking::host> own_;
  blocking::host* host_ = nullptr;
  pid_t opened_by_ = ::getpid();
  // The destructor of an adapter closes its device, which a forked child must not.
  union {
    easy::adapter adapter_{};
  };
  bool told_ = false, refused_ = false;
  // Who always finds something to do still wants to hear of a removal now and then.
  static constexpr unsigned most_unheard = 16;
  unsigned unheard_ = 0;
};

}  // namespace freehca::blocking
