// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/recording/driver_replay.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include <freehca/in_process/configuration_space.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/pci_devices.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/model/device.hpp>
#include <freehca/model/recording_format.hpp>
#include <freehca/recording/rows.hpp>

#include "driver_host.hpp"
#include "entry_lists.hpp"
#include "field_compare.hpp"

namespace freehca::recording {

using namespace layouts;

namespace {

/// How long the replay waits for the model, in its own time: no command of a driver may last longer
/// (Linux 6.1 cmd.h MLX4_CMD_TIME_CLASS_C is 60 s; what the model does takes far less).
constexpr std::uint64_t patience_ns = 60'000'000'000;

class replayer {
 public:
  replayer(const recording& from, const tampering& otherwise)
      : from_(from),
        otherwise_(otherwise),
        host_(otherwise),
        configuration_(from.how.kind, from.how.ports),
        compare_(result_) {
    model::options how = from.how;
    how.record = true;
    adapter_.emplace(host_, how);
    configuration_.configure_as_firmware_does();
  }

  driver_replay_result run() {
    for (index_ = 0; index_ < from_.records.size(); ++index_) take(from_.records[index_]);
    // Of one that is cut off nobody knows what came next.
    if (from_.problem.empty()) end_unanswered("the recording's end", true);
    adapter_->end_recording();
    std::istringstream text(host_.recorded);
    const recording again = load(text, from_.name + " (the model)");
    compare_entries(from_, again, host_.writes, compare_);
    remark_on(again);
    std::stable_sort(result_.differences.begin(), result_.differences.end(),
                     [](const difference& a, const difference& b) { return a.line < b.line; });
    return std::move(result_);
  }

 private:
  void take(const record& r) {
    compare_.at(r);
    advance(began_ + r.time);
    switch (r.kind) {
      case record_kind::step:
        return compare_.step(r.name);
      case record_kind::store:
        return host_.store(r.at, r.data);
      case record_kind::bus_master:
        configuration_.set_bus_master(r.value != 0);
        return host_.set_bus_master(r.value != 0);
      case record_kind::command:
        end_unanswered("the next command", false);
        commands_[r.token] = r;
        unanswered_[r.token] = r;
        compare_.posted(r);
        host_.last_command = r;
        return;
      case record_kind::call:
        if (r.name == "reset" || (r.name == "write_bar0" && r.at == bar0::reset))
          end_unanswered("a reset", true);
        return call(r);
      case record_kind::answer:
        unanswered_.erase(r.token);
        return;
      case record_kind::write:
        if (r.what == "output_mailbox") return mailbox(r);
        await([&] { return owner_of(host_.look(r.at, r.data.size())) == owner_of(r.data); });
        return;
      default:
        return;
    }
  }

  static bool owner_of(const std::vector<std::byte>& entry) {
    return !entry.empty() && (entry.back() & std::byte{0x80}) != std::byte{0};
  }

  void turn() {
    host_.take_timer();
    adapter_->on_timer();
  }
  void advance(std::uint64_t time) {
    while (host_.timer() <= time) turn();
    host_.move_to(time);
  }
  /// Until done() or the model has nothing more to do.
  template <class Done>
  void await(Done&& done) {
    const std::uint64_t until = host_.time() + patience_ns;
    while (!done() && host_.timer() <= until) turn();
  }

  /// The driver gives up what was not answered: polled commands, and if `all` those that were to
  /// end by an event, too. The model is given the time that a driver gives; entries that it writes
  /// then are compared with the others.
  void end_unanswered(const char* when, bool all) {
    for (auto c = unanswered_.begin(); c != unanswered_.end();) {
      const record& command = c->second;
      if (command.event && !all) {
        ++c;
        continue;
      }
      std::uint64_t word = 0;
      await([&] {
        word = registers(bar0::hcr_status);
        return !command.event && (word >> hcr{}.go.lo & 1) == 0;
      });
      if (!command.event && (word >> hcr{}.go.lo & 1) == 0)
        compare_.unanswered(command, word, when);
      c = unanswered_.erase(c);
    }
  }

  void call(const record& r) {
    if (r.name == "write_bar0") {
      adapter_->write_registers(r.at, r.value, static_cast<unsigned>(r.bytes));
    } else if (r.name == "write_bar2") {
      adapter_->write_uar(r.at, r.value, static_cast<unsigned>(r.bytes));
    } else if (r.name == "write_configuration") {
      configuration_.write(static_cast<unsigned>(r.at), static_cast<std::uint32_t>(r.value));
      host_.set_bus_master(configuration_.bus_master());
    } else if (r.name == "reset") {
      adapter_->reset();
      configuration_.wipe();
      configuration_.configure_as_firmware_does();
      host_.set_bus_master(false);
    } else if (r.name == "read_configuration") {
      remark_on_device(r);
      compare_.configuration(r, result_of(r), configuration_.read(static_cast<unsigned>(r.at)));
    } else if (r.name == "read_bar2") {
      compare_.register_read(r, result_of(r), adapter_->read_uar(r.at, 4));
    } else if (r.name == "read_bar0") {
      read(r);
    } else {
      result_.remarks.push_back("line " + std::to_string(r.line) + ": the call \"" + r.name +
                                "\" is not one that a driver makes");
    }
  }

  void remark_on_device(const record& r) {
    const auto identity = static_cast<std::uint32_t>(result_of(r));
    constexpr std::uint32_t nobody = ~std::uint32_t{0};
    if (r.at != 0 || identity == nobody || remarked_on_device_) return;
    if (find_pci_device(identity & 0xffff, identity >> 16) != nullptr) return;
    remarked_on_device_ = true;
    std::ostringstream text;
    text << "line " << r.line << ": vendor and device are 0x" << std::hex << identity
         << ", no adapter that this program knows: replayed as a "
         << model::variant_names[static_cast<std::size_t>(from_.how.kind)];
    result_.remarks.push_back(text.str());
  }

  std::uint64_t registers(std::uint64_t at) {
    const std::uint64_t value = adapter_->read_registers(at, 4);
    return otherwise_.read_bar0 ? otherwise_.read_bar0(at, value) : value;
  }

  void read(const record& r) {
    if (r.at != bar0::hcr_status) return compare_.register_read(r, result_of(r), registers(r.at));
    std::uint64_t value = 0;
    await([&] {
      value = registers(r.at);
      return (value >> hcr{}.go.lo & 1) == 0;
    });
    compare_.command_register(r, result_of(r), value);
  }

  /// What the recorded read answered.
  std::uint64_t result_of(const record& call) const {
    const std::size_t next = index_ + 1;
    return next < from_.records.size() && from_.records[next].kind == record_kind::result
               ? from_.records[next].value
               : call.value;
  }

  void mailbox(const record& r) {
    const auto command = commands_.find(static_cast<std::uint16_t>(r.index));
    if (command == commands_.end()) return;
    compare_.output(r, command->second, host_.look(r.at, r.data.size()));
  }

  /// Payload is in no recording; all else that the model found nowhere is told.
  void remark_on(const recording& again) {
    std::map<std::string, std::size_t> reads;
    std::size_t n = 0;
    for (const record& r : again.records) {
      if (r.kind != record_kind::read) continue;
      const bool unknown = n < host_.invented.size() && host_.invented[n];
      ++n;
      if (unknown && r.what != "data" && r.what != "context_memory") ++reads[r.what];
    }
    for (const auto& [what, count] : reads)
      result_.remarks.push_back("the model reads " + (what.empty() ? "memory" : what) + " " +
                                std::to_string(count) +
                                " times of which the recording does not hold all: taken as zero");
    for (const std::string& c : host_.complaints)
      result_.remarks.push_back("the model complains: " + c);
  }

  const recording& from_;
  const tampering& otherwise_;
  driver_host host_;
  in_process::configuration_space configuration_;
  driver_replay_result result_;
  field_comparison compare_;
  std::optional<model::device> adapter_;
  std::map<std::uint16_t, record> commands_;    // the last of each token
  std::map<std::uint16_t, record> unanswered_;  // the recording has not ended them yet
  const std::uint64_t began_ = host_.time();
  std::size_t index_ = 0;
  bool remarked_on_device_ = false;
};

}  // namespace

driver_replay_result replay_driver(const recording& from, const tampering& otherwise) {
  return replayer(from, otherwise).run();
}

std::string words_of(const difference& d) {
  std::ostringstream text;
  text << d.time / 1'000'000 << "."
       << std::string(6 - std::to_string(d.time % 1'000'000).size(), '0') << d.time % 1'000'000
       << " ms, line " << d.line;
  if (!d.step.empty()) text << ", " << d.step;
  text << ": " << d.where << ": " << d.field << ": the card " << d.card << ", the model " << d.model
       << "; " << d.bears_on.page << ", \"" << d.bears_on.section << "\", ";
  if (d.bears_on.first.empty()) {
    text << "where no row fits";
  } else if (d.bears_on.fitting > 1) {
    text << "one of " << d.bears_on.fitting << " rows of " << d.bears_on.first
         << " with this status";
  } else {
    text << "row \"" << d.bears_on.first;
    if (!d.bears_on.second.empty()) text << " | " << d.bears_on.second;
    text << "\"";
  }
  return text.str();
}

}  // namespace freehca::recording
