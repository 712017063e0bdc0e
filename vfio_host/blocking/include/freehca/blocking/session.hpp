// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// For programs that block: the only place that sleeps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <freehca/blocking/host.hpp>
#include <freehca/hal/text.hpp>
#include <freehca/hca/easy.hpp>

namespace freehca::blocking {

/// A status in words.
inline std::string words(status s) {
  char text[160];
  describe(s, text, sizeof text);
  return text;
}

/// An adapter, opened by its PCI address, and a way to wait for what it does. One thread.
class session {
 public:
  explicit session(const std::string& pci_address, const easy::sizes& wanted = {})
      : storage_(easy::adapter::storage_bytes(wanted) / sizeof(unit) + 1),
        host_(open_host(pci_address, device::dma_bytes(wanted.budget), trouble_)) {
    if (host_ == nullptr) return;
    const status opened = adapter_.open({.platform = host_->platform(),
                                         .size = wanted,
                                         .storage = storage_.data()->bytes,
                                         .storage_bytes = storage_.size() * sizeof(unit),
                                         .events = {}});
    if (!opened.ok()) trouble_ = words(opened);
  }
  /// Takes down what is still up. No operation is under way.
  ~session() {
    if (adapter_.hardware().state() <= device_state::down) return;
    auto down = adapter_.tear_down();
    while (!down.done()) turn();
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Why the adapter could not be opened; empty: it is open.
  const std::string& trouble() const { return trouble_; }
  easy::adapter& adapter() { return adapter_; }

  /// Sleeps and polls until the operation or task is done. Gives its result, or its outcome if it
  /// brings nothing.
  template <class Operation>
  auto wait(Operation&& op) {
    while (!op.done()) turn();
    if constexpr (requires { op.value(); }) return op.value();
    else return op.outcome();
  }
  /// Once around: polls, and sleeps until something can have changed.
  void turn() {
    if (poll() == 0) host_->wait(adapter_.next_deadline());
  }

  /// For a program with a loop of its own, instead of wait() and turn(): it calls look() until that
  /// gives 0, and then sleeps until descriptor() can be read, or until the adapter's
  /// next_deadline(); when that is 0, it does not sleep.
  int descriptor() { return host_->descriptor(); }
  /// Hears of interrupts and polls, and does not sleep. Returns how much ended by that.
  unsigned look() {
    host_->wait(0);
    return poll();
  }

 private:
  unsigned poll() {
    if (host_->lost() && !told_) {
      told_ = true;
      adapter_.hardware().lost();
    }
    return adapter_.poll();
  }

  struct alignas(16) unit {
    std::byte bytes[16];
  };
  std::string trouble_;
  std::vector<unit> storage_;
  std::unique_ptr<host> host_;
  easy::adapter adapter_;
  bool told_ = false;
};

}  // namespace freehca::blocking
