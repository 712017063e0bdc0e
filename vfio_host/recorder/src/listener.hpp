// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <freehca/layouts/eqe.hpp>
#include <freehca/recorder/recorder.hpp>

#include "entries.hpp"
#include "host_blocks.hpp"
#include "identities.hpp"
#include "rings.hpp"

namespace freehca::recorder {

/// The driver's platform, which records its calls, and the receiver of the driver's accesses.
class listener {
 public:
  listener(const freehca::platform& inner, recording_options how);

  freehca::platform outside() { return {&outer_, this}; }
  void step(const std::string& name);
  std::vector<live_object> live_objects() const;
  std::string text() const;
  std::size_t records() const;

  // Called by the accessors.
  void read(const std::byte* at, std::uint32_t value);
  void writes(const std::byte* at, std::uint64_t value, unsigned width);
  void stored(const std::byte* to, std::size_t count);
  void loads(const std::byte* from);

 private:
  struct bar {
    mmio_region region;
    const char *read, *write;
  };
  static listener& of(void* context) { return *static_cast<listener*>(context); }
  void wrap_configuration();
  void wrap_memory();
  void wrap_interrupts();
  void set_notify(void (*notify)(void*, unsigned) noexcept, void* context);
  template <entry_kind Kind>
  static void hear_interrupt(void* listening, unsigned vector) noexcept;

  std::uint64_t now() const;
  entry make(entry_kind kind) const;
  void call(const char* name, std::uint64_t at, std::uint64_t width, std::uint64_t value,
            bool reads = false);
  const bar* bar_of(const std::byte* at) const;
  void post();
  void polled(std::uint32_t last_word);
  void complete(const entry& command, std::uint8_t status, std::uint64_t output);
  void take_entry(const ring& of, std::uint64_t address, bytes data);
  void follow(const entry& command);
  void learn(const entry& command, bool output, bytes& box);
  void learn_facts(const entry& command, const bytes& output);
  void learn_port(unsigned port, const bytes& packet);
  void learn_port_change(const layouts::image<layouts::eqe_command>& event);
  bytes mailbox(std::uint64_t address) const;
  void note_configuration(unsigned offset, std::uint32_t value);

  const freehca::platform inner_;
  const recording_options how_;
  platform_operations known_, outer_;
  std::uint64_t began_ = 0;
  mutable std::recursive_mutex alone_;
  std::vector<entry> records_;
  host_blocks memory_;
  identities identities_;
  rings rings_;
  adapter_facts facts_;
  bar bars_[2] = {{{}, "read_bar0", "write_bar0"}, {{}, "read_bar2", "write_bar2"}};
  std::byte register_[32] = {};               // last values written to the command register
  bool awaiting_ = false;                     // GO was set and was not read as clear yet
  bool resetting_ = false;                    // registers read as all ones
  std::map<std::uint16_t, entry> under_way_;  // by token
  std::map<std::uint64_t, std::uint32_t> last_reads_;
  std::set<std::pair<layouts::opcode, std::uint32_t>> live_;
  void (*notify_)(void*, unsigned) noexcept = nullptr;
  void* notify_context_ = nullptr;
};

/// Sets the receiver of the accesses; null: none.
void listen(listener* who);

}  // namespace freehca::recorder
