// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <freehca/model/device.hpp>

#include "basis/adapter.hpp"
#include "basis/capabilities.hpp"
#include "basis/recorder.hpp"
#include "device/raised_events.hpp"
#include "device/registers.hpp"
#include "device/uar_window.hpp"
#include "firmware/command_engine.hpp"
#include "firmware/diagnostics.hpp"
#include "firmware/firmware.hpp"
#include "ports/ports.hpp"
#include "queues/completion_queues.hpp"
#include "queues/event_queues.hpp"
#include "queues/uar_users.hpp"
#include "tables/icm.hpp"
#include "tables/memory_commands.hpp"
#include "tables/memory_regions.hpp"
#include "transport/transport.hpp"

namespace freehca::model {

/// The parts of an adapter, in the order in which they are made.
struct device::parts {
  parts(environment& s, const options& o)
      : recording(recorder_of(s, o)),
        surroundings(recording ? *recording : s),
        how(o),
        times(how.faults),
        kept(o.host_memory_limit, has_ethernet_port(o)),
        clock(surroundings),
        rules(surroundings, clock, how),
        memory(surroundings, account),
        work(surroundings, clock, account),
        all{surroundings, how,     memory, work,   account,  times, kept,           rules,
            commands,     profile, config, layers, counters, uars,  recording.get()},
        context_memory(config, memory, account, kept, counters),
        eqs(all),
        cqs(all),
        regions(config, memory, context_memory, rules, counters),
        links(all),
        queue_pairs(with_rooms()),
        region_commands(config, context_memory, regions, queue_pairs, rules),
        main_firmware(all),
        errors(how, rules, cqs, counters),
        raised(eqs, links, rules, commands, counters),
        engine(all, main_firmware),
        bar0(how, eqs, engine, main_firmware, rules),
        bar2(config, queue_pairs, cqs, eqs, rules) {
    if (recording) recording->label_by(memory);
    all.queue_pairs = &queue_pairs;
    all.above_ports = &queue_pairs;
    region_commands.add_handlers(commands);
    errors.add_handlers(commands);
    bar0.add_counters(counters);
    bar2.add_counters(counters);
    counters.add("complaints", [this] { return rules.complaints(); });
    counters.add("drops_unexplained", rules.drops_unexplained());
    kept.add_traffic(kept.packet_bytes, [this] { return work.backlog(); });
    counters.add("host_memory_kept", [this] { return kept.bytes(); });
    counters.add("turns", [this] { return work.turns(); });
    counters.add("turns_cut", [this] { return work.turns_cut(); });
    counters.add("work_units", [this] { return account.used(); });
    counters.add("work_units_at_once", [this] { return account.greatest(); });
    engine.count_opcodes();
    main_firmware.on_software_reset([this] {
      reset();
      const std::uint64_t takes = times.reset();
      dead_until = takes == 0 ? 0 : scheduler::later(clock.now(), takes);
      surroundings.wipe_configuration_space();
    });
  }

  /// The rooms that stand below the transport, which takes them by reference.
  adapter& with_rooms() {
    all.context_memory = &context_memory;
    all.eqs = &eqs;
    all.cqs = &cqs;
    all.regions = &regions;
    all.links = &links;
    return all;
  }

  void reset() {
    work.clear();
    engine.clear();
    main_firmware.clear();
    queue_pairs.clear();
    cqs.clear();
    eqs.clear();
    regions.clear();
    links.clear();
    context_memory.clear(work);
    uars.clear(work);
    raised.clear();
    profile = {};
    bar0.clear();
    bar2.clear();
    failed = false;
  }

  void fail() {
    if (failed) return;
    // The subtypes of this event that illumos names are not for what is meant here: none is given.
    eqs.post_asynchronous(layouts::event_type::local_catastrophic_error,
                          layouts::image<layouts::eqe>{});
    failed = true;
    work.halt();
    engine.stop();
    bar0.show_internal_error();
  }

  /// Around each call from outside that can bring about work: what it costs is known when it ends.
  class call {
   public:
    explicit call(parts& of) : of_(of) {
      ++of_.calls;
      of_.account.begin_call();
    }
    ~call() {
      --of_.calls;
      of_.account.end_call();
    }
    call(const call&) = delete;
    call& operator=(const call&) = delete;

   private:
    parts& of_;
  };

  struct changing_members;
  template <class Visit>
  void transfer_sections(Visit visit);
  std::string obstacle_to_saving() const;
  std::vector<std::byte> save();
  bool load(std::span<const std::byte> from, std::string& why);

  static std::unique_ptr<recorder> recorder_of(environment& s, const options& o) {
    return o.record ? std::make_unique<recorder>(s, o) : nullptr;
  }

  std::unique_ptr<recorder> recording;  ///< outlives all that may call it
  environment& surroundings;            ///< the recorder, or what it stands before
  options how;  ///< only its faults, its strictness and the rules that are off ever change
  fault_times times;
  kept_memory kept;
  work_account account{how.turn_units};
  adapter_clock clock;
  rule_book rules;
  host_memory memory;
  scheduler work;
  command_table commands;
  hca_profile profile;
  const configuration config{how, profile};
  port_layers layers{how};
  counter_registry counters;
  uar_users uars;
  adapter all;
  icm context_memory;
  event_queues eqs;
  completion_queues cqs;
  memory_regions regions;
  ports links;
  transport queue_pairs;
  memory_commands region_commands;
  firmware main_firmware;
  diagnostics errors;
  raised_events raised;
  command_engine engine;
  registers bar0;
  uar_window bar2;
  /// Whether an access comes while a reset goes on: it finds nobody.
  bool finds_nobody(const char* what) {
    if (!in_reset()) return false;
    rules.complain(rule::register_in_reset, "%s within %llu ns of the end of a software reset",
                   what, static_cast<unsigned long long>(dead_until - clock.now()));
    return true;
  }
  bool in_reset() { return dead_until != 0 && clock.now() < dead_until; }

  unsigned calls = 0;        ///< that last
  bool looked_into = false;  ///< inside() was called, so somebody may hold a reference
  static constexpr saving::unsaved_member unsaved[] = {
      {"recording", "an obstacle to saving"},
      {"how", "changing_members saves what can change"},
      {"kept", "it counts what other parts have"},
      {"memory", "it has no state between calls"},
      {"commands", "set at construction"},
      {"counters", "set at construction"},
      {"all", "set at construction"},
      {"region_commands", "it has no state"},
      {"errors", "it has no state"},
      {"calls", "0 between calls"},
      {"looked_into", "of this object"},
      {"dead_until", "changing_members saves it"},
      {"failed", "changing_members saves it"}};

  std::uint64_t dead_until = 0;
  bool failed = false;  ///< after a catastrophic error: nothing works until a reset
};

}  // namespace freehca::model
