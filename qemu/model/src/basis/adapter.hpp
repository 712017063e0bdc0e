// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/model/options.hpp>

#include "basis/adapter_limits.hpp"
#include "basis/command.hpp"
#include "basis/configuration.hpp"
#include "basis/counters.hpp"
#include "basis/hca_profile.hpp"
#include "basis/host_memory.hpp"
#include "basis/kept_memory.hpp"
#include "basis/port_layers.hpp"
#include "basis/rule_book.hpp"
#include "basis/scheduler.hpp"
#include "basis/work_account.hpp"
#include "faults/fault_times.hpp"

namespace freehca::model {

class recorder;
class icm;
class event_queues;
class completion_queues;
class memory_regions;
class transport;
class ports;
class uar_users;
class packet_receiver;

/// The parts of the adapter, as each sees the others. Owned by device; every part keeps a
/// reference. A part calls those of its own room and of lower ones, and what stands above by
/// `above_ports` alone.
struct adapter {
  environment& surroundings;
  const options& how;
  host_memory& memory;
  scheduler& work;
  work_account& account;
  fault_times& times;
  kept_memory& kept;
  rule_book& rules;
  command_table& commands;
  hca_profile& profile;
  const model::configuration& configuration;
  port_layers& layers;  ///< as SET_PORT has made them
  counter_registry& counters;
  uar_users& uars;
  model::recorder* recording = nullptr;  ///< null without options::record
  model::icm* context_memory = nullptr;
  model::event_queues* eqs = nullptr;
  model::completion_queues* cqs = nullptr;
  model::memory_regions* regions = nullptr;
  model::transport* queue_pairs = nullptr;
  packet_receiver* above_ports = nullptr;  ///< the transport, as ports see it
  model::ports* links = nullptr;

  const adapter_limits& limits() const { return limits_of(how.kind); }
};

}  // namespace freehca::model
