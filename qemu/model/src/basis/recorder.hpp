// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <freehca/layouts/command_status.hpp>
#include <freehca/model/environment.hpp>
#include <freehca/model/link_faults.hpp>
#include <freehca/model/options.hpp>

#include <freehca/model/json_line.hpp>
#include "basis/command.hpp"

namespace freehca::model {

/// The names of the rules, with commas between them, as rule_set::named() takes them.
std::string names_of(const rule_set& rules);

/// The fields of `faults`, as the header and the call "set_faults" have them.
void write_faults(json_line& to, const fault_options& faults);

/// Stands between the adapter and its surroundings and tells environment::record() of everything
/// that passes, in the format of docs/recording.md. While a call into the adapter lasts, the clock
/// that the adapter sees stands still: the recording then has one time for each call, and the same
/// calls at the same times lead the adapter the same way again.
class recorder final : public environment {
 public:
  /// Writes the header. `surroundings` must outlive the recorder.
  recorder(environment& surroundings, const options& how);
  ~recorder() { end(); }
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// Whose subject() each DMA has.
  void label_by(const host_memory& memory) { memory_ = &memory; }

  /// A call into the adapter begins: `name` as in docs/recording.md. The caller adds what it was
  /// given, and gives the line to begin(). Each begin() has its end_call().
  json_line call(const char* name);
  void begin(json_line& line);
  void end_call();
  /// What a read answers; before its end_call().
  void result(std::uint64_t value);

  /// The adapter has accepted a command; it has answered one.
  void accepted(const command& c);
  void answered(const command& c, layouts::command_status s);

  /// Writes the last record; from then on nothing is recorded.
  void end();

  // environment
  bool dma_read(std::uint64_t address, void* to, std::size_t bytes) override;
  bool dma_write(std::uint64_t address, const void* from, std::size_t bytes) override;
  bool bus_master() override;
  bool msix_enabled() override;
  void msix(unsigned vector) override;
  void intx(bool asserted) override;
  std::uint64_t now() override;
  void arm_timer(std::uint64_t deadline) override { outer_.arm_timer(deadline); }
  void wipe_configuration_space() override;
  bool link_send(unsigned port, const std::byte* from, std::size_t bytes) override;
  void packet_passed(unsigned port, const std::byte* from, std::size_t bytes) override {
    outer_.packet_passed(port, from, bytes);
  }
  bool listens(remark_kind kind) override { return outer_.listens(kind); }
  void tell(const remark& what) override;

 private:
  void add(json_line& line);
  void add_subject(json_line& line, bool write) const;
  void hand_over();

  environment& outer_;
  const host_memory* memory_ = nullptr;
  std::string pending_;  ///< whole lines
  std::uint64_t records_ = 0;
  std::uint64_t call_time_ = 0;
  unsigned depth_ = 0;  ///< calls that last
  bool off_ = false;
  enum class known : std::uint8_t { nothing, no, yes };
  known bus_master_ = known::nothing, msix_enabled_ = known::nothing;
};

/// A call into the adapter that may be recorded, as long as it lives.
class recorded_call {
 public:
  /// `r` may be null: then nothing is recorded. `describe(line)` adds what the call was given.
  template <class Describe>
  recorded_call(recorder* r, const char* name, Describe&& describe) : recorder_(r) {
    if (recorder_ == nullptr) return;
    json_line line = recorder_->call(name);
    describe(line);
    recorder_->begin(line);
  }
  ~recorded_call() {
    if (recorder_ != nullptr) recorder_->end_call();
  }
  recorded_call(const recorded_call&) = delete;
  recorded_call& operator=(const recorded_call&) = delete;

  std::uint64_t result(std::uint64_t value) const {
    if (recorder_ != nullptr) recorder_->result(value);
    return value;
  }

 private:
  recorder* recorder_;
};

}  // namespace freehca::model
