// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <vector>

#include <freehca/model/environment.hpp>
#include <freehca/recording/driver_replay.hpp>

#include "known_memory.hpp"

namespace freehca::recording {

/// A write of the model to host memory: what it says of it comes later, from its own recording.
struct model_write {
  std::uint64_t at;
  std::vector<std::byte> data;
};

/// The surroundings of a model that a driver's recording drives. Its memory holds what the driver
/// stored and what the model wrote; its clock moves by advance() and wait().
class driver_host final : public model::environment {
 public:
  explicit driver_host(const tampering& otherwise) : otherwise_(otherwise) {}

  void store(std::uint64_t address, const std::vector<std::byte>& data) {
    memory_.put(address, data.data(), data.size());
  }
  std::vector<std::byte> look(std::uint64_t address, std::size_t count) {
    std::vector<std::byte> data(count);
    memory_.get(address, data.data(), count, [](std::uint64_t, const std::byte*) {});
    return data;
  }
  /// When the model wants to be called; `never`: it waits for its host.
  std::uint64_t timer() const { return timer_; }
  void take_timer() {
    if (timer_ > now_) now_ = timer_;
    timer_ = never;
  }
  void move_to(std::uint64_t time) { now_ = time > now_ ? time : now_; }
  std::uint64_t time() const { return now_; }
  void set_bus_master(bool allowed) { master_ = allowed; }

  std::vector<model_write> writes;  ///< all, in order
  std::vector<bool> invented;       ///< of each read: bytes that nobody has written
  std::vector<std::string> complaints;
  std::string recorded;
  freehca::recording::record last_command;

  bool dma_read(std::uint64_t address, void* to, std::size_t count) override {
    bool unknown = false;
    memory_.get(address, static_cast<std::byte*>(to), count,
                [&unknown](std::uint64_t, std::byte* byte) {
                  *byte = std::byte{0};
                  unknown = true;
                });
    invented.push_back(unknown);
    return true;
  }
  bool dma_write(std::uint64_t address, const void* from, std::size_t count) override {
    const auto* p = static_cast<const std::byte*>(from);
    model_write w{address, std::vector<std::byte>(p, p + count)};
    if (otherwise_.write) otherwise_.write(last_command, address, w.data);
    store(address, w.data);
    constexpr std::size_t longest_structure = 4096;
    if (count > longest_structure) w.data.clear();
    writes.push_back(std::move(w));
    return true;
  }
  bool bus_master() override { return master_; }
  bool msix_enabled() override { return true; }
  void msix(unsigned) override {}
  void intx(bool) override {}
  std::uint64_t now() override { return now_; }
  void arm_timer(std::uint64_t deadline) override { timer_ = deadline; }
  void wipe_configuration_space() override { master_ = false; }
  bool link_send(unsigned, const std::byte*, std::size_t) override { return true; }
  void tell(const model::remark& what) override {
    if (what.kind == model::remark_kind::complaint) complaints.push_back(what.text);
  }
  bool record(const char* from, std::size_t count) override {
    recorded.append(from, count);
    return true;
  }

 private:
  const tampering& otherwise_;
  known_memory memory_;
  std::uint64_t now_ = 1'000'000, timer_ = never;
  bool master_ = false;
};

}  // namespace freehca::recording
