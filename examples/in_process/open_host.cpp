// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// open_host() for the modelled adapter. A program for adapters over VFIO that is linked with this
// file instead runs without hardware, QEMU or privileges. Each address names an adapter of its own.
// The adapters "left" and "right" are joined by a cable from port 1 to port 1, without a subnet
// manager.
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include <freehca/hal/clock.hpp>
#include <freehca/in_process/gate.hpp>

#include "in_process_host.hpp"

namespace freehca::blocking {
namespace {

std::uint64_t system_clock() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return clock::after(clock::seconds(static_cast<std::uint64_t>(t.tv_sec)),
                      static_cast<std::uint64_t>(t.tv_nsec));
}

/// In wait() the virtual clock jumps to the next event. If the program has asked for the descriptor
/// and sleeps by itself, the virtual clock follows the system's clock.
class example_host final : public in_process_host {
 public:
  explicit example_host(const std::string& name) : in_process_host(options_for(name)) {
    in_process::let_threads_in();
    if (!is_cabled(name)) return;
    end_ = name == "right";
    ends_[*end_] = this;
    machine.on_link_send = [this](unsigned, const std::byte* from, std::size_t bytes) {
      sent_.emplace_back(from, from + bytes);
      return true;
    };
  }
  ~example_host() override {
    if (end_) ends_[*end_] = nullptr;
    if (ticks_ >= 0) close(ticks_);
    for (const std::string& c : machine.complaints()) std::fprintf(stderr, "%s\n", c.c_str());
    if (!machine.complaints().empty()) std::abort();
  }

  void wait(std::uint64_t deadline) override {
    // Limits each step, so that packets on the cable arrive in time.
    constexpr std::uint64_t flight = clock::microseconds(100);
    const std::uint64_t began = machine.time();
    if (ticks_ >= 0 && deadline == 0) follow_the_system();
    else in_process_host::wait(end_ ? std::min(deadline, began + flight) : deadline);
    example_host* const other = end_ ? ends_[1 - *end_] : nullptr;
    if (other == nullptr) return sent_.clear();
    carry_to(*other);
    other->machine.advance(machine.time() - began);
    other->carry_to(*this);
  }

  /// A timer that fires a thousand times a second, because the model only works inside wait().
  int descriptor() override {
    if (ticks_ >= 0) return ticks_;
    ticks_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    constexpr itimerspec often{.it_interval = {0, 1'000'000}, .it_value = {0, 1'000'000}};
    if (ticks_ >= 0) timerfd_settime(ticks_, 0, &often, nullptr);
    looked_ = system_clock();
    return ticks_;
  }

 private:
  static bool is_cabled(const std::string& name) { return name == "left" || name == "right"; }
  static in_process::machine_options options_for(const std::string& name) {
    in_process::machine_options how;
    how.model.cable[0] = is_cabled(name);
    how.model.vpi[0] = how.model.vpi[1] = true;
    if (name == "right") how.model.node_guid += 0x10;
    return how;
  }
  void follow_the_system() {
    std::uint64_t ticks = 0;
    while (read(ticks_, &ticks, sizeof ticks) == sizeof ticks) continue;
    const std::uint64_t now = system_clock();
    machine.advance(now - std::exchange(looked_, now));
  }
  void carry_to(example_host& other) {
    for (const auto& bytes : std::exchange(sent_, {}))
      other.machine.adapter().link_receive(1, bytes.data(), bytes.size());
  }

  static inline example_host* ends_[2] = {};
  std::optional<unsigned> end_;               // this adapter's end of the cable: 0 or 1
  std::vector<std::vector<std::byte>> sent_;  // packets on the cable
  int ticks_ = -1;
  std::uint64_t looked_ = 0;  // system time of the last call of wait(), with ticks_
};

}  // namespace

std::unique_ptr<host> open_host(const std::string& address, std::size_t, std::string& why) {
  if (!address.empty()) return std::make_unique<example_host>(address);
  why = "no address";
  return nullptr;
}

}  // namespace freehca::blocking
