// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A host for the device model in a test: memory in an array, a virtual clock, interrupts on record.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <freehca/layouts/layout.hpp>
#include <freehca/model/device.hpp>

#include "capture_file.hpp"
#include "test_options.hpp"
#include "zeroed_memory.hpp"

namespace freehca::model::test {

inline constexpr std::uint64_t second = 1'000'000'000;  ///< of the clock, in nanoseconds

/// Memory stands at bus addresses [base, base + bytes). Everything else is refused.
class test_host final : public environment {
 public:
  static constexpr std::uint64_t base = 0x1'0000'0000;

  explicit test_host(std::size_t bytes = 64u << 20) : memory_(bytes) {}
  /// On memory of an earlier one, all zero, and back: for runs by the thousand.
  explicit test_host(zeroed_memory memory) : memory_(std::move(memory)) {}
  zeroed_memory take_memory() { return std::move(memory_); }

  void attach(device& d) { device_ = &d; }

  // environment
  bool dma_read(std::uint64_t address, void* to, std::size_t bytes) override {
    ++reads;
    if (!inside(address, bytes)) return false;
    if (on_read) on_read(address, bytes);
    std::memcpy(to, at(address), bytes);
    bytes_read += bytes;
    return true;
  }
  bool dma_write(std::uint64_t address, const void* from, std::size_t bytes) override {
    if (!inside(address, bytes)) return false;
    std::memcpy(at(address), from, bytes);
    bytes_written += bytes;
    touched_ = std::max<std::size_t>(touched_, address - base + bytes);
    return true;
  }
  bool bus_master() override { return bus_master_on; }
  bool msix_enabled() override { return msix_on; }
  void msix(unsigned vector) override { messages.push_back(vector); }
  void intx(bool asserted) override { intx_asserted = asserted; }
  std::uint64_t now() override { return clock; }
  void arm_timer(std::uint64_t deadline) override { deadline_ = deadline; }
  void wipe_configuration_space() override { ++wipes; }
  bool listens(remark_kind) override { return listen_to_all; }
  void tell(const remark& n) override {
    if (remarks.size() < 1000) remarks.push_back(n);
    if (n.kind == remark_kind::complaint && complaints.size() < 200) complaints.push_back(n.text);
  }
  bool link_send(unsigned port, const std::byte* from, std::size_t bytes) override {
    if (wire_full[port - 1]) return false;
    std::vector<std::byte> sent(from, from + bytes);
    if (on_wire) on_wire(port, sent);
    const link_end& far = wires_[port - 1];
    if (far.host != nullptr) far.host->inbox_.push_back({far.port, std::move(sent)});
    return true;
  }

  void packet_passed(unsigned port, const std::byte* from, std::size_t bytes) override {
    if (on_packet) on_packet(port, {from, from + bytes});
    append_to_capture(clock, from, bytes);
  }

  /// Lays a cable from `port` to `far_port` of `far`, which may be the same host. From then on the
  /// two share their clock, and run() and advance() of either run both.
  void lay_cable(unsigned port, test_host& far, unsigned far_port) {
    wires_[port - 1] = {&far, far_port};
    far.wires_[far_port - 1] = {this, port};
    if (&far == this) return;
    far.clock = clock = std::max(clock, far.clock);
    together_ = far.together_ = {this, &far};
  }
  /// Ends what lay_cable() began: whoever goes first tells the other.
  void part() {
    for (test_host* h : std::vector<test_host*>(together_)) {
      h->together_ = {h};
      for (link_end& end : h->wires_) end = {};
    }
  }
  /// Sees, and may change, what is sent by a cable. Called inside the device.
  std::function<void(unsigned port, std::vector<std::byte>& bytes)> on_wire;
  /// The device is about to read memory, which may change first. Called inside the device.
  std::function<void(std::uint64_t address, std::size_t bytes)> on_read;
  /// A packet has passed a port that captures.
  std::function<void(unsigned port, const std::vector<std::byte>& bytes)> on_packet;
  bool wire_full[2] = {false, false};  ///< link_send of that port takes nothing

  /// From now on the bus refuses [address, address + bytes), as an IOMMU does.
  void refuse(std::uint64_t address, std::size_t bytes) { refused_.push_back({address, bytes}); }
  bool inside(std::uint64_t address, std::size_t bytes) const {
    for (const auto& [from, length] : refused_)
      if (address < from + length && from < address + bytes) return false;
    return address >= base && address - base <= memory_.size() &&
           bytes <= memory_.size() - (address - base);
  }
  std::byte* at(std::uint64_t address) { return memory_.data() + (address - base); }

  template <class T>
  layouts::image<T> load(std::uint64_t address) {
    return layouts::image<T>::from_bytes(at(address));
  }
  template <class T>
  void store(std::uint64_t address, const layouts::image<T>& i) {
    std::memcpy(at(address), i.data(), i.size());
  }

  /// `pages` pages, zeroed, aligned to `alignment` bytes; never given back.
  std::uint64_t allocate(std::size_t pages = 1, std::size_t alignment = 4096) {
    next_ = (next_ + alignment - 1) / alignment * alignment;
    const std::size_t first = next_;
    next_ += pages * 4096;
    if (next_ > memory_.size()) __builtin_trap();
    // Writing zeros would give every page memory, which took most of the time of most tests.
    const std::size_t end = std::min(next_, touched_);
    if (first < end) std::memset(at(base + first), 0, end - first);
    return base + first;
  }

  /// Runs what is due now, and what that makes due, until nothing is. At most `rounds` timer calls.
  void run(unsigned rounds = 100'000) {
    for (bool more = true; more;) {
      more = false;
      for (test_host* h : together_)
        while (rounds > 0 && h->step()) {
          more = true;
          --rounds;
        }
    }
  }
  /// Lets the clock run `nanoseconds` further, stopping at each deadline on the way.
  void advance(std::uint64_t nanoseconds) {
    const std::uint64_t until = clock + nanoseconds;
    for (run(); next_deadline() <= until; run()) set_clock(next_deadline());
    set_clock(until);
  }
  bool idle() const { return deadline_ == never; }

  bool bus_master_on = true, msix_on = true, intx_asserted = false;
  std::uint64_t clock = 1000;
  unsigned wipes = 0, timer_calls = 0;
  std::uint64_t reads = 0, bytes_read = 0, bytes_written = 0;  ///< by DMA
  std::vector<unsigned> messages;                              ///< MSI-X messages, in order
  bool listen_to_all = false;                                  ///< else to what explains something
  std::vector<remark> remarks;                                 ///< the first of them
  std::vector<std::string> complaints;

 private:
  struct link_end {
    test_host* host = nullptr;
    unsigned port = 0;
  };
  struct arrival {
    unsigned port;
    std::vector<std::byte> bytes;
  };

  /// Takes what has come by a cable, or lets an expired timer run; false: there is neither.
  bool step() {
    if (!inbox_.empty()) {
      const arrival a = std::move(inbox_.front());
      inbox_.pop_front();
      device_->link_receive(a.port, a.bytes.data(), a.bytes.size());
      return true;
    }
    if (deadline_ > clock) return false;
    deadline_ = never;
    ++timer_calls;
    device_->on_timer();
    return true;
  }
  std::uint64_t next_deadline() const {
    std::uint64_t least = never;
    for (const test_host* h : together_) least = std::min(least, h->deadline_);
    return least;
  }
  void set_clock(std::uint64_t time) {
    for (test_host* h : together_) h->clock = time;
  }

  std::vector<test_host*> together_{this};
  link_end wires_[2];
  std::deque<arrival> inbox_;

  std::vector<std::pair<std::uint64_t, std::size_t>> refused_;
  zeroed_memory memory_;
  std::size_t next_ = 0;     ///< where the memory begins that is not given out
  std::size_t touched_ = 0;  ///< where the memory begins that the device has not written
  std::uint64_t deadline_ = never;
  device* device_ = nullptr;
};

}  // namespace freehca::model::test
