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

#include <freehca/hca/objects/verbs.hpp>
#include <freehca/loopback_traffic/owner_traffic.hpp>

#include "work.hpp"

namespace freehca::hcactl {

/// The event owners of completion contexts 0 to N - 1, each with a thread. All functions of this
/// class run on the control owner's thread.
class owner_team {
 public:
  struct member {
    explicit member(unsigned which) : name("owner " + std::to_string(which)) {}
    const std::string name;
    std::unique_ptr<blocking::owner_wait> wait;
    std::vector<std::byte> storage;
    loopback_traffic::owner_traffic traffic;
    verbs objects;
    loopback_traffic::scattered_memory* buffer = nullptr;
    std::atomic<bool> ended{false};  // the thread does not use this member any more
    std::thread thread;
    std::uint64_t seen = 0;      // number of messages at the last look()
    std::uint64_t moved_at = 0;  // time at which the number last grew
    bool moved = false;          // whether it grew since the last bring-up

    std::uint64_t messages() const { return traffic.messages.load(std::memory_order_relaxed); }
  };

  explicit owner_team(workplace& at) : at_(at) {}
  ~owner_team();
  owner_team(const owner_team&) = delete;
  owner_team& operator=(const owner_team&) = delete;

  /// Starts the threads; the device must be up. Returns the failure, or nothing if they run.
  std::optional<vfio_host::failure> start(const threads_options& settings);
  /// Resets the device and brings it up again, while the threads run.
  status recover();
  /// Checks the progress of each thread. Returns an empty text, or a message about a thread that
  /// has stopped.
  std::string look();
  /// Stops the threads, releases all objects (by a reset if necessary) and waits for the threads.
  std::optional<vfio_host::failure> end();

  bool all_moved() const;  ///< whether each has moved data since the last recover()
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
