// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// For programs that block. The driver itself never sleeps; only this class does.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include <freehca/blocking/host.hpp>
#include <freehca/blocking/words.hpp>
#include <freehca/easy/easy.hpp>

namespace freehca::blocking {

/// An adapter, opened by its address, with functions that wait for operations. The caller has
/// entered the control owner. Event owners on other threads wake the thread that waits, and wait by
/// host::wait_for().
class session {
  template <class Operation>
  static auto end_of(Operation& op) {
    if constexpr (requires { op.value(); }) return op.value();
    else return op.outcome();
  }

 public:
  /// Opens the adapter. `address` is an address of open_host().
  explicit session(const std::string& address, const easy::sizes& size = {}) : session(size) {
    own_ = open_host(address, device::dma_bytes(size.budget), trouble_);
    host_ = own_.get();
    if (host_ == nullptr) return;
    if (const status opened = open(); !opened.ok()) trouble_ = words(opened);
  }
  /// Uses a host of the program's own, which must outlive the session. The program calls open()
  /// next.
  explicit session(blocking::host& in, const easy::sizes& size = {}) : session(size) {
    host_ = &in;
  }
  /// Takes the device down if it is still up, unless a teardown has failed before. There must be no
  /// operation under way. In a forked child the adapter belongs to the parent, and is not touched.
  ~session() {
    if (is_in_child()) return;
    if (adapter_.hardware().state() > device_state::down && !refused_)
      static_cast<void>(tear_down());
    adapter_.~adapter();
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Opens the adapter. Outcomes are those of adapter::open(), and driver_error::no_memory with
  /// budget::item::storage if the system did not provide the driver's memory. `take_over` is
  /// device_setup::take_over, `events` is easy::setup::events, `entry` is device_setup::entry.
  status open(bool take_over = false, const verbs_events& events = {},
              const entry_check& entry = {}) {
    if (!storage_) return status(driver_error::no_memory, unsigned(budget::item::storage));
    return adapter_.open({.platform = host_->platform(),
                          .size = size_,
                          .storage = storage_.get(),
                          .storage_bytes = easy::adapter::storage_bytes(size_),
                          .take_over = take_over,
                          .wake = &wake,
                          .wake_context = host_,
                          .entry = entry,
                          .events = events});
  }
  /// The outcome of an operation of this adapter in words. If a budget ran out, the text has its
  /// name, its size and how much is in use. If a bring-up failed, it has the failed step and the
  /// cause. If an attribute of an object or a transition was refused, it has the attribute, its
  /// value and the limit.
  std::string words(status s) {
    return blocking::words(s, adapter_.hardware(), size_) +
           refused_in_words(s, adapter_.objects().refused());
  }
  /// The reason why the adapter could not be opened. Empty if it is open.
  const std::string& trouble() const { return trouble_; }
  easy::adapter& adapter() { return adapter_; }
  blocking::host& host() { return *host_; }
  const easy::sizes& size() const { return size_; }

  /// Sleeps and polls until the operation or task is done, and cancels it when the host is
  /// interrupted. Returns its result, or its outcome if it has no result.
  template <class Operation>
  auto wait(Operation&& op) {
    for (bool cancelled = false; !op.done(); turn()) {
      if (cancelled || !host_->interrupted()) continue;
      op.cancel();
      cancelled = true;
    }
    return end_of(op);
  }
  /// The same without cancelling. It is for operations that release something: an interruption is
  /// the reason to run them and must not stop them.
  template <class Operation>
  auto finish(Operation&& op) {
    while (!op.done()) turn();
    return end_of(op);
  }
  /// Takes the adapter down. Afterwards it holds nothing, also after a failure. Outcomes are those
  /// of adapter::tear_down(), and driver_error::bad_state in a forked child.
  status tear_down() {
    if (is_in_child()) return driver_error::bad_state;
    if (adapter_.hardware().state() == device_state::closed) return {};
    const status outcome = finish(adapter_.tear_down());
    refused_ = !outcome.ok();
    return outcome;
  }

  /// Polls once. If no operation ended, sleeps until an interrupt or the next deadline. If the
  /// driver must be polled again at once, it asks the host for interrupts only in each 16th turn.
  void turn() {
    const std::uint64_t until = poll() == 0 && may_sleep() ? adapter_.next_deadline() : 0;
    if (until == 0 && ++unheard_ < most_unheard) return;
    hear(until);
  }

  /// For a program with a loop of its own, instead of wait() and turn(). The program calls look()
  /// until it returns 0. Then it sleeps until descriptor() is readable or until the adapter's
  /// next_deadline(). If that deadline is 0, it does not sleep.
  int descriptor() { return host_->descriptor(); }
  /// Takes interrupts and polls, without sleeping. Returns the number of operations that ended.
  unsigned look() {
    if (unheard_ == 0 || unheard_ >= most_unheard) hear(0);
    const unsigned ended = poll();
    unheard_ = ended > 0 ? unheard_ + 1 : 0;
    // If an event owner has sent a request since the poll, return 1, so that the program does not
    // sleep before the next look().
    return ended == 0 && !may_sleep() ? 1 : ended;
  }

 private:
  struct release {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{16}); }
  };
  explicit session(const easy::sizes& size)
      : size_(size),
        storage_(new (std::align_val_t{16}, std::nothrow)
                     std::byte[easy::adapter::storage_bytes(size)]) {}

  bool is_in_child() const { return ::getpid() != opened_by_; }
  unsigned poll() {
    if (host_->gone() && !reported_gone_) {
      reported_gone_ = true;
      adapter_.hardware().mark_as_lost();
    }
    return adapter_.poll();
  }
  /// Returns false if an event owner has sent a request since poll().
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
  // In a union, so that a forked child can skip the adapter's destructor, which closes the device.
  union {
    easy::adapter adapter_{};
  };
  bool reported_gone_ = false, refused_ = false;
  // Number of polls without a sleep after which the host is asked for interrupts anyway, so that a
  // busy program learns of a removal.
  static constexpr unsigned most_unheard = 16;
  unsigned unheard_ = 0;
};

}  // namespace freehca::blocking
