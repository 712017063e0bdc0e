// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <freehca/hca/owners/event_verbs.hpp>
#include <freehca/loopback_traffic/owner_traffic.hpp>

#include "work.hpp"

namespace freehca::hcactl {

/// Owners of completion contexts 0 to N - 1, each with a thread. Everything but what a thread does
/// is called on the control owner's.
class owner_team {
 public:
  /// What each cuts off from the device.
  static constexpr share_budget share{.translations = 512,
                                      .queue_bytes = std::size_t{256} << 10,
                                      .doorbell_bytes = std::size_t{4} << 10};

  struct member {
    explicit member(unsigned which) : name("owner " + std::to_string(which)) {}
    const std::string name;
    std::unique_ptr<blocking::owner_wait> wait;
    std::vector<std::byte> storage;
    loopback_traffic::owner_traffic traffic;
    event_verbs objects;
    loopback_traffic::scattered_memory* buffer = nullptr;
    std::atomic<bool> ended{false};  // nothing of it is touched by its thread any more
    std::thread thread;
    std::uint64_t seen = 0;      // of its messages
    std::uint64_t moved_at = 0;  // when one more was seen
    bool moved = false;          // since the device was up last

    std::uint64_t messages() const { return traffic.messages.load(std::memory_order_relaxed); }
  };

  explicit owner_team(workplace& at) : at_(at) {}
  ~owner_team();
  owner_team(const owner_team&) = delete;
  owner_team& operator=(const owner_team&) = delete;

  /// The device is up. What is wrong, or nothing: the threads run.
  std::optional<vfio_host::failure> start(const threads_options& wanted);
  /// Resets the device and brings it up anew, while the threads run.
  status recover();
  /// Looks how far each is. Empty: all move; else what is wrong.
  std::string look();
  /// Has the threads give everything back, by a reset if need be, and waits for them.
  std::optional<vfio_host::failure> end();

  bool all_moved() const;  ///< since the last recover()
  bool somebody_ended() const;
  std::uint64_t least_messages() const;
  const std::deque<member>& members() const { return members_; }

 private:
  std::optional<vfio_host::failure> add(unsigned which);
  device& adapter() { return at_.driver.adapter().hardware(); }
  void begin_watch();
  void take_down();
  void turn();
  bool done() const;

  workplace& at_;
  std::deque<member> members_;
  std::atomic<bool> stop_{false};
};

}  // namespace freehca::hcactl
