// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A device, what stands on it, and the sequences of commands that it goes through: the tests that
// fail every command of every sequence walk one table.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <freehca/hca/port_operation.hpp>

#include "counts.hpp"

namespace freehca::testing {

/// A device with at most one object of each kind. Operations under test are started by name; what
/// leads up to them is made without fault.
class stage {
 public:
  stage(bool interrupts, bool function_level_reset);
  ~stage();

  /// By a reset if need be. `expected`: how that ends.
  void down(status expected = {});
  void up();  ///< nothing stands on it
  void clear();
  /// Handles of what a late answer took.
  void forget_stale();

  // Preparation. The port is the second: what stands on the device goes by the first.
  void make_domain();
  void make_region();
  void make_completion();
  void make_shared();
  void make_queue(layouts::qp_state in, layouts::qp_service service = layouts::qp_service::rc);

  /// Shared, because that knows how to delete what an operation really is.
  using started = std::shared_ptr<operation>;
  started bring_up();
  started tear_down();
  started recover();
  started close_port();
  started open_port();
  started create_region();
  started destroy_region();
  started create_completion();
  started destroy_completion();
  started create_shared();
  started arm_shared();
  started destroy_shared();
  /// Takes its receives from the shared queue, if there is one.
  started create_queue(layouts::qp_service service = layouts::qp_service::rc);
  started move_queue(layouts::qp_state to);
  started read_queue();
  started destroy_queue();

  /// Runs it to its end, and on for a while: it must end once.
  status end_of(operation& op);
  /// The same for one that may not fail.
  void must(const started& op);
  void run_for(std::uint64_t nanoseconds);

  /// The n-th command from now on meets `verdict`, counting from 1. What the device asks by itself
  /// is not counted.
  void fail_command(unsigned n, model::command_verdict verdict, bool counts_datagrams);
  void fail_none();
  layouts::opcode struck{};  ///< the command that it was; 0: none was the n-th

  verbs_rig rig;

 private:
  pd_handle domain_;
  mr_handle region_;
  cq_handle completion_;
  srq_handle shared_;
  qp_handle queue_;
  in_process::host_memory_map::scattered_pages pages_;
  std::function<void()> keep_;  // what an operation made, when it ended well
};

/// What a driver does with firmware commands.
struct command_sequence {
  std::string name;
  bool of_the_device = false;   ///< not of something that stands on it
  bool names_an_object = true;  ///< one with a number of its own
  std::function<void(stage&)> prepare;
  std::function<stage::started(stage&)> start;
};

/// All of them.
const std::vector<command_sequence>& all_sequences();

}  // namespace freehca::testing
