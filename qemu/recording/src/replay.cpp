// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/recording/replay.hpp>

#include <algorithm>
#include <deque>
#include <sstream>
#include <unordered_map>

#include <freehca/model/device.hpp>

#include "known_memory.hpp"

namespace freehca::recording {

namespace {

using entry = record;  // environment::record() hides the name in a host

constexpr std::size_t remarks_max = 20;

class host final : public model::environment {
 public:
  explicit host(const recording& from) : from_(from) {
    for (std::size_t i = 0; i < from.records.size(); ++i) {
      const entry& r = from.records[i];
      if (r.kind != record_kind::read || r.refused) continue;
      by_page(r.at, r.data.size(), [&](std::uint64_t p, std::size_t, std::size_t, std::size_t) {
        reads_of_page_[p].push_back(i);
      });
    }
  }

  /// Takes over what the records [first, last) tell of the host: its memory, its settings.
  void take(std::size_t first, std::size_t last) {
    refused_.clear();
    sends_refused_.clear();
    memory_.clear_marks();
    bool wiped = false;
    for (here_ = first; here_ < last; ++here_) {
      const entry& r = from_.records[here_];
      switch (r.kind) {
        case record_kind::call:
          clock_ = r.time;
          break;
        case record_kind::read:
          if (r.refused) refused_.push_back({r.at, r.bytes});
          // What the adapter itself wrote in this call it will write again.
          else memory_.put_unmarked(r.at, r.data.data(), r.data.size());
          break;
        case record_kind::write:
          if (r.refused) refused_.push_back({r.at, r.bytes});
          else memory_.mark(r.at, r.bytes);
          break;
        case record_kind::send:
          sends_refused_.push_back(r.refused);
          break;
        case record_kind::wipe:
          wiped = true;
          break;
        case record_kind::bus_master:
          if (!wiped) master_ = r.value != 0;
          break;
        case record_kind::msix_enabled:
          if (!wiped) msix_ = r.value != 0;
          break;
        default:
          break;
      }
    }
    here_ = first;
  }

  void remark(std::string text) {
    if (remarks.size() < remarks_max) remarks.push_back(std::move(text));
    else if (remarks.size() == remarks_max) remarks.push_back("(further remarks are left out)");
  }

  std::vector<std::string> remarks;
  std::string recorded;  ///< what the model recorded
  /// Of everything that the adapter did to the host, in order.
  std::uint64_t effects = 0xcbf29ce484222325;  // FNV-1a

  bool dma_read(std::uint64_t address, void* to, std::size_t bytes) override {
    if (is_refused(address, bytes)) return false;
    bool invented = false;
    memory_.get(address, static_cast<std::byte*>(to), bytes,
                [&](std::uint64_t at, std::byte* byte) { invented |= !learn(at, byte); });
    if (invented)
      remark("line " + std::to_string(line()) + ": the adapter reads " + std::to_string(bytes) +
             " bytes at " + hex(address) + ", which the recording does not hold: taken as zero");
    return true;
  }
  bool dma_write(std::uint64_t address, const void* from, std::size_t bytes) override {
    if (is_refused(address, bytes)) return false;
    memory_.put(address, static_cast<const std::byte*>(from), bytes);
    note(effect::write, address);
    note(from, bytes);
    return true;
  }
  bool bus_master() override { return master_; }
  bool msix_enabled() override { return msix_; }
  void msix(unsigned vector) override { note(effect::message, vector); }
  void intx(bool asserted) override { note(effect::level, asserted); }
  std::uint64_t now() override { return clock_; }
  void arm_timer(std::uint64_t) override {}
  void wipe_configuration_space() override { master_ = msix_ = false; }
  /// A cable that was full is full again, at the same packet or frame of this call.
  bool link_send(unsigned port, const std::byte* from, std::size_t bytes) override {
    note(effect::send, port);
    note(from, bytes);
    if (sends_refused_.empty()) return true;
    const bool refused = sends_refused_.front();
    sends_refused_.pop_front();
    return !refused;
  }
  void tell(const model::remark&) override {}
  bool record(const char* from, std::size_t bytes) override {
    recorded.append(from, bytes);
    return true;
  }

 private:
  enum class effect : std::uint64_t { write, message, level, send };
  void note(effect what, std::uint64_t where) {
    const std::uint64_t both[] = {static_cast<std::uint64_t>(what), where};
    note(both, sizeof both);
  }
  void note(const void* from, std::size_t bytes) {
    const auto* p = static_cast<const std::uint8_t*>(from);
    for (std::size_t i = 0; i < bytes; ++i) effects = (effects ^ p[i]) * 0x100000001b3;
  }
  static std::string hex(std::uint64_t n) {
    std::ostringstream text;
    text << "0x" << std::hex << n;
    return text.str();
  }
  std::size_t line() const { return here_ < from_.records.size() ? from_.records[here_].line : 0; }
  bool is_refused(std::uint64_t address, std::size_t bytes) const {
    return std::any_of(refused_.begin(), refused_.end(), [&](const auto& r) {
      return address < r.first + r.second && r.first < address + bytes;
    });
  }
  /// What the recording tells of a byte only behind this call; all bytes of that read become known.
  bool learn(std::uint64_t address, std::byte* byte) {
    const auto reads = reads_of_page_.find(address / page_bytes);
    if (reads == reads_of_page_.end()) return false;
    for (auto i = std::lower_bound(reads->second.begin(), reads->second.end(), here_);
         i != reads->second.end(); ++i) {
      const entry& r = from_.records[*i];
      if (address < r.at || address - r.at >= r.data.size()) continue;
      *byte = r.data[address - r.at];
      return true;
    }
    return false;
  }

  const recording& from_;
  known_memory memory_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> reads_of_page_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> refused_;  ///< ranges, in this call
  std::deque<bool> sends_refused_;                                ///< in this call, in order
  std::size_t here_ = 0;
  bool master_ = false, msix_ = false;
  std::uint64_t clock_ = 0;
};

std::uint64_t of(const record& r, const char* key) {
  const auto found = r.numbers.find(key);
  return found == r.numbers.end() ? 0 : found->second;
}

/// Makes the call `r`; false: it is none that can be made again.
bool make(model::device& to, const record& r) {
  const auto bytes = static_cast<unsigned>(r.bytes);
  const auto port = static_cast<unsigned>(of(r, "port"));
  if (r.numbers.count("inside") != 0) return false;
  if (r.name == "read_bar0") to.read_registers(r.at, bytes);
  else if (r.name == "write_bar0") to.write_registers(r.at, r.value, bytes);
  else if (r.name == "read_bar2") to.read_uar(r.at, bytes);
  else if (r.name == "write_bar2") to.write_uar(r.at, r.value, bytes);
  else if (r.name == "look_at_uar")
    to.look_at_uar(static_cast<std::uint32_t>(of(r, "page")), of(r, "sends") != 0,
                   of(r, "completions") != 0);
  else if (r.name == "timer") to.on_timer();
  else if (r.name == "reset") to.reset();
  else if (r.name == "fail") to.fail();
  else if (r.name == "raise_event")
    to.raise_event({.type = static_cast<layouts::event_type>(of(r, "type")),
                    .subtype = static_cast<std::uint8_t>(of(r, "subtype")),
                    .port = static_cast<std::uint8_t>(port)});
  else if (r.name == "link_receive") to.link_receive(port, r.data.data(), r.data.size());
  else if (r.name == "link_has_room") to.link_has_room(port);
  else if (r.name == "plug_cable") to.plug_cable(port, of(r, "plugged") != 0);
  else if (r.name == "set_faults")
    to.set_faults({.command_acceptance_ns = of(r, "command_acceptance_ns"),
                   .command_latency_ns = of(r, "command_latency_ns"),
                   .commands_side_by_side = of(r, "commands_side_by_side") != 0,
                   .work_latency_ns = of(r, "work_latency_ns"),
                   .reset_latency_ns = of(r, "reset_latency_ns"),
                   .time_seed = of(r, "time_seed")});
  else if (r.name == "set_link_faults")
    to.set_link_faults(port, {.loss = static_cast<std::uint32_t>(of(r, "loss")),
                              .corruption = static_cast<std::uint32_t>(of(r, "corruption")),
                              .duplication = static_cast<std::uint32_t>(of(r, "duplication")),
                              .reordering = static_cast<std::uint32_t>(of(r, "reordering")),
                              .seed = of(r, "seed")});
  else if (r.name == "set_strict") to.set_strict(of(r, "strict") != 0);
  else if (r.name == "set_rules_off")
    to.set_rules_off(model::rule_set::named(r.what).value_or(model::rule_set{}));
  else return r.name.rfind("judge_", 0) == 0 && of(r, "ends") != 0;
  return true;
}

/// Makes all calls. `end(adapter)` comes before the adapter is destroyed.
template <class End>
void make_calls(const recording& from, const model::options& how, host& surroundings, End end) {
  const std::vector<record>& records = from.records;
  const auto next_call = [&](std::size_t i) {
    while (i < records.size() && records[i].kind != record_kind::call) ++i;
    return i;
  };
  std::size_t i = next_call(0);
  surroundings.take(0, i);
  model::device adapter(surroundings, how);
  while (i < records.size()) {
    const std::size_t next = next_call(i + 1);
    surroundings.take(i, next);
    if (!make(adapter, records[i])) {
      surroundings.remark("line " + std::to_string(records[i].line) + ": the call \"" +
                          records[i].name + "\" cannot be made again: the replay ends before it");
      break;
    }
    i = next;
  }
  end(adapter);
}

}  // namespace

replay_result replay(const recording& from) {
  host surroundings(from);
  model::options how = from.how;
  how.record = true;
  how.record_label = from.label;
  make_calls(from, how, surroundings, [](model::device&) {});
  std::istringstream text(surroundings.recorded);
  return {load(text, from.name + " (replayed)"), std::move(surroundings.remarks)};
}

replay_digests digests_of_replay(const recording& from) {
  host surroundings(from);
  replay_digests digests;
  make_calls(from, from.how, surroundings,
             [&](model::device& adapter) { digests.state = adapter.state_digest(); });
  digests.effects = surroundings.effects;
  return digests;
}

}  // namespace freehca::recording
