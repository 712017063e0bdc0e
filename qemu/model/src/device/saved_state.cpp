// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The sections of the adapter's state, and the order in which a load reads them.
#include <algorithm>
#include <cassert>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/parts.hpp"
#include "saving/stream.hpp"
#include "saving/transfer.hpp"
#include "saving/values.hpp"

namespace freehca::model {

namespace {

/// An option that decides what the state means. Source and destination have the same.
struct decisive_option {
  std::string name;
  std::uint64_t value = 0;

  using saved = saving::fields<&decisive_option::name, &decisive_option::value>;
};

std::vector<decisive_option> decisive_options(const options& how) {
  std::vector<decisive_option> all;
  const auto add = [&all](std::string name, std::uint64_t value) {
    all.push_back({std::move(name), value});
  };
  add("variant", static_cast<std::uint64_t>(how.kind));
  add("ports", how.ports);
  for (unsigned port = 0; port < how.ports; ++port) {
    const std::string number = std::to_string(port + 1);
    add("link" + number, static_cast<std::uint64_t>(how.link[port]));
    add("vpi" + number, how.vpi[port]);
    add("cable" + number, how.cable[port]);
    add("lid" + number, how.lid[port]);
    add("sm-lid" + number, how.sm_lid[port]);
  }
  add("sm", how.subnet_manager);
  add("guid", how.node_guid);
  add("mac", how.mac);
  add("max-commands", how.log_max_commands);
  add("command-interface", how.command_interface);
  add("interrupt-pin", how.interrupt_pin);
  add("bar2-size", how.uar_bar_bytes);
  for (const capability_name& c : capability_names) add(std::string(c.name), offers(how, c.what));
  return all;
}

/// The stream's options are checked against the adapter's own.
struct same_options {
  const options& how;

  template <class Archive>
  void transfer_state(Archive& archive) {
    const std::vector<decisive_option> own = decisive_options(how);
    std::vector<decisive_option> all = own;
    transfer(archive, all);
    if constexpr (Archive::loads) {
      if (!archive.ok()) return;
      const auto differs = std::mismatch(own.begin(), own.end(), all.begin(), all.end(),
                                         [](const decisive_option& a, const decisive_option& b) {
                                           return a.name == b.name && a.value == b.value;
                                         });
      if (differs.first == own.end() || differs.second == all.end()) {
        if (own.size() != all.size())
          archive.refuse("the state has %zu options and this adapter has %zu", all.size(),
                         own.size());
        return;
      }
      archive.refuse(
          "%.40s is 0x%llx in the state, and %s is 0x%llx in this adapter",
          differs.second->name.c_str(), static_cast<unsigned long long>(differs.second->value),
          differs.first->name.c_str(), static_cast<unsigned long long>(differs.first->value));
    }
  }
};

}  // namespace

/// What of the options may change while the adapter lives, and the adapter's own members.
struct device::parts::changing_members {
  parts& of;

  template <class Archive>
  void transfer_state(Archive& archive) {
    transfer(archive, of.how.strict);
    transfer(archive, of.how.rules_off);
    transfer(archive, of.how.faults);
    transfer(archive, of.dead_until);
    transfer(archive, of.failed);
  }
};

/// Calls visit(name, part) for each section. The clock comes first, because times are compared with
/// it. Port layers and the profile decide what later sections mean.
template <class Visit>
void device::parts::transfer_sections(Visit visit) {
  same_options same{how};
  changing_members own{*this};
  visit("options", same);
  visit("clock", clock);
  visit("adapter", own);
  visit("fault times", times);
  visit("port layers", layers);
  visit("profile", profile);
  visit("rule book", rules);
  visit("account", account);
  visit("scheduler", work);
  visit("context memory", context_memory);
  visit("UAR users", uars);
  visit("event queues", eqs);
  visit("completion queues", cqs);
  visit("memory regions", regions);
  visit("ports", links);
  visit("queue pairs", queue_pairs);
  visit("firmware", main_firmware);
  visit("raised events", raised);
  visit("command register", engine);
  visit("BAR0", bar0);
  visit("BAR2", bar2);
}

std::string device::parts::obstacle_to_saving() const {
  if (recording) return "a recording is being written";
  if (engine.is_judged()) return "commands have a judge";
  if (eqs.is_judged()) return "events have a judge";
  if (queue_pairs.is_judged()) return "work requests have a judge";
  return {};
}

std::vector<std::byte> device::parts::save() {
  assert(calls == 0 && obstacle_to_saving().empty());
  work.free_discarded();
  saving::stream_writer to;
  transfer_sections([&to](std::string_view name, auto& part) {
    saving::writer w;
    transfer(w, part);
    to.add({name, w.written()});
  });
  return std::move(to).finish();
}

std::uint64_t device::state_digest() {
  parts_->work.free_discarded();
  std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a
  parts_->transfer_sections([&digest](std::string_view, auto& part) {
    saving::writer w(saving::purpose::digest);
    transfer(w, part);
    for (const std::byte b : w.written())
      digest = (digest ^ static_cast<std::uint8_t>(b)) * 0x100000001b3;
  });
  return digest;
}

/// Precondition: the parts are new. Refused, they are in no state that work, or a reset, may see.
bool device::parts::load(std::span<const std::byte> from, std::string& why) {
  const saving::parsed_stream stream = saving::parse_stream(from);
  why = stream.refusal;
  if (!why.empty()) return false;
  auto next = stream.sections.begin();
  transfer_sections([&](std::string_view name, auto& part) {
    if (!why.empty()) return;
    if (next == stream.sections.end() || next->name != name) {
      why = next == stream.sections.end()
                ? "section " + std::string(name) + " is missing"
                : "section " + std::string(next->name) + " is not known, or not in its place";
      return;
    }
    saving::reader r(name, stream.version, next->bytes);
    transfer(r, part);
    if (r.left() != 0) r.refuse("%zu bytes are left", r.left());
    why = r.refusal();
    ++next;
  });
  if (why.empty() && next != stream.sections.end())
    why = "section " + std::string(next->name) + " is not known";
  if (!why.empty()) return false;
  engine.loaded();
  work.arm_after_load();
  return true;
}

std::string device::obstacle_to_saving() const {
  return parts_->obstacle_to_saving();
}
std::vector<std::byte> device::save() {
  return parts_->save();
}
bool device::load(std::span<const std::byte> from, std::string& why) {
  why = obstacle_to_saving();
  if (!why.empty()) return false;
  auto loaded = std::make_unique<parts>(parts_->surroundings, parts_->how);
  if (!loaded->load(from, why)) return false;
  loaded->uars.follow(parts_->uars);
  parts_ = std::move(loaded);
  parts_->surroundings.intx(parts_->eqs.asserts_intx());
  return true;
}

}  // namespace freehca::model
