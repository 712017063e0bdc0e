// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/model/device.hpp>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "basis/capabilities.hpp"
#include "basis/limits.hpp"
#include "device/object_dump.hpp"
#include "device/parts.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/infiniband_port.hpp"

namespace freehca::model {

device::device(environment& surroundings, const options& how)
    : parts_(std::make_unique<parts>(surroundings, how)) {
  if (how.judges.commands) judge_commands({});
  if (how.judges.events) judge_events({});
  if (how.judges.requests) judge_requests({});
}
device::~device() = default;

namespace {

/// For calls that are given nothing.
constexpr auto nothing = [](json_line&) {};

}  // namespace

std::uint64_t device::read_registers(std::uint64_t offset, unsigned bytes) {
  const recorded_call c(parts_->recording.get(), "read_bar0",
                        [&](json_line& l) { l.hex("at", offset).number("bytes", bytes); });
  const parts::call now(entered());
  if (parts_->finds_nobody("read of BAR0")) return c.result(~std::uint64_t{0});
  return c.result(parts_->bar0.read(offset, bytes));
}

void device::write_registers(std::uint64_t offset, std::uint64_t value, unsigned bytes) {
  const recorded_call c(parts_->recording.get(), "write_bar0", [&](json_line& l) {
    l.hex("at", offset).number("bytes", bytes).hex("value", value);
  });
  const parts::call now(entered());
  if (parts_->finds_nobody("write to BAR0")) return;
  parts_->bar0.write(offset, value, bytes);
}

std::uint64_t device::read_uar(std::uint64_t offset, unsigned bytes) {
  const recorded_call c(parts_->recording.get(), "read_bar2",
                        [&](json_line& l) { l.hex("at", offset).number("bytes", bytes); });
  if (parts_->finds_nobody("read of BAR2")) return c.result(~std::uint64_t{0});
  return c.result(parts_->bar2.read(offset, bytes));
}

void device::write_uar(std::uint64_t offset, std::uint64_t value, unsigned bytes) {
  const recorded_call c(parts_->recording.get(), "write_bar2", [&](json_line& l) {
    l.hex("at", offset).number("bytes", bytes).hex("value", value);
  });
  const parts::call now(entered());
  if (parts_->finds_nobody("doorbell")) return;
  if (!parts_->failed) parts_->bar2.write(offset, value, bytes);
}

void device::look_at_uar(std::uint32_t page, bool sends, bool completions) {
  const recorded_call c(parts_->recording.get(), "look_at_uar", [&](json_line& l) {
    l.number("page", page).boolean("sends", sends).boolean("completions", completions);
  });
  const parts::call now(entered());
  if (parts_->failed || parts_->in_reset()) return;
  if (sends) parts_->queue_pairs.look_at(page, uar_users::kind::send_queue);
  if (completions) parts_->queue_pairs.look_at(page, uar_users::kind::completion_queue);
}

std::uint64_t device::uar_page_changes() const {
  return parts_->uars.changes();
}

void device::uar_pages(void (*out)(const uar_page&, void* context), void* context) const {
  const unsigned log_bytes = parts_->profile.log_uar_page_bytes;
  const bool blueflame = offers(parts_->how, capability::blueflame);
  parts_->uars.each_page([&](std::uint32_t page) {
    const std::uint64_t at = std::uint64_t{page} << log_bytes;
    out({page, at, blueflame ? parts_->how.uar_bar_bytes / 2 + at : 0,
         std::uint64_t{1} << log_bytes},
        context);
  });
}

void device::on_timer() {
  const recorded_call c(parts_->recording.get(), "timer", nothing);
  const parts::call now(entered(entry::timer));
  parts_->work.run_due();
}

void device::link_receive(unsigned port, const std::byte* from, std::size_t bytes) {
  const recorded_call r(parts_->recording.get(), "link_receive", [&](json_line& l) {
    l.number("port", port).number("bytes", bytes).bytes("hex", from, bytes);
  });
  const parts::call now(entered());
  if (!parts_->failed) parts_->links.arrived(port, {from, bytes});
}
bool device::link_may_receive() const {
  return parts_->work.arrivals() < limits::link_backlog;
}
void device::link_has_room(unsigned port) {
  const recorded_call r(parts_->recording.get(), "link_has_room",
                        [&](json_line& l) { l.number("port", port); });
  const parts::call now(entered());
  if (!parts_->failed) parts_->links.has_room(port);
}
void device::plug_cable(unsigned port, bool plugged) {
  const recorded_call r(parts_->recording.get(), "plug_cable",
                        [&](json_line& l) { l.number("port", port).boolean("plugged", plugged); });
  const parts::call now(entered());
  parts_->links.plug(port, plugged);
}

bool device::set_link_faults(unsigned port, const link_faults& faults) {
  const recorded_call r(parts_->recording.get(), "set_link_faults", [&](json_line& l) {
    l.number("port", port)
        .number("loss", faults.loss)
        .number("corruption", faults.corruption)
        .number("duplication", faults.duplication)
        .number("reordering", faults.reordering)
        .number("seed", faults.seed);
  });
  return parts_->links.set_faults(port, faults);
}

void device::set_faults(const fault_options& faults) {
  const recorded_call r(parts_->recording.get(), "set_faults",
                        [&](json_line& l) { write_faults(l, faults); });
  parts_->how.faults = faults;
  parts_->times.begin();
}

const fault_options& device::faults() const {
  return parts_->how.faults;
}
bool device::in_reset() const {
  return parts_->in_reset();
}

void device::fail() {
  const recorded_call r(parts_->recording.get(), "fail", nothing);
  const parts::call now(entered());
  parts_->fail();
}
bool device::raise_event(const raised_event& event) {
  const recorded_call r(parts_->recording.get(), "raise_event", [&](json_line& l) {
    l.number("type", static_cast<unsigned>(event.type))
        .number("subtype", event.subtype)
        .number("port", event.port);
  });
  const parts::call now(entered());
  return !parts_->failed && parts_->raised.raise(event);
}
bool device::failed() const {
  return parts_->failed;
}

void device::reset() {
  const recorded_call r(parts_->recording.get(), "reset", nothing);
  const parts::call now(entered());
  parts_->reset();
  parts_->dead_until = 0;  // this reset ends one by the register
}

void device::end_recording() {
  if (parts_->recording) parts_->recording->end();
}

void device::counters(void (*out)(const counter&, void* context), void* context) const {
  const counter_registry& all = parts_->counters;
  for (std::size_t i = 0; i < all.size(); ++i) out({all.name(i), all.value(i)}, context);
}

void device::judge_commands(command_judge judge) {
  const recorded_call r(parts_->recording.get(), "judge_commands",
                        [&](json_line& l) { l.boolean("ends", !judge); });
  const command_judge& lasting = parts_->how.judges.commands;
  if (!lasting) return parts_->engine.judge(std::move(judge));
  parts_->engine.judge([&lasting, judge = std::move(judge)](layouts::opcode code,
                                                            std::uint32_t modifier) {
    const command_verdict verdict = lasting(code, modifier);
    return verdict.what == command_verdict::fate::run && judge ? judge(code, modifier) : verdict;
  });
}
void device::release_held_commands() {
  const recorded_call r(parts_->recording.get(), "release_held_commands", nothing);
  const parts::call now(entered());
  parts_->engine.release_held();
}
std::size_t device::held_commands() const {
  return parts_->engine.held();
}
bool device::answer_held_command(std::size_t which, const command_verdict& how) {
  const recorded_call r(parts_->recording.get(), "answer_held_command",
                        [&](json_line& l) { l.number("which", which); });
  const parts::call now(entered());
  return parts_->engine.answer_held(which, how);
}
void device::judge_events(event_judge judge) {
  const recorded_call r(parts_->recording.get(), "judge_events",
                        [&](json_line& l) { l.boolean("ends", !judge); });
  const event_judge& lasting = parts_->how.judges.events;
  if (!lasting) return parts_->eqs.judge(std::move(judge));
  parts_->eqs.judge([&lasting, judge = std::move(judge)](layouts::event_type type) {
    const event_fate fate = lasting(type);
    return fate == event_fate::deliver && judge ? judge(type) : fate;
  });
}

void device::judge_requests(request_judge judge) {
  const recorded_call r(parts_->recording.get(), "judge_requests",
                        [&](json_line& l) { l.boolean("ends", !judge); });
  const request_judge& lasting = parts_->how.judges.requests;
  if (!lasting) return parts_->queue_pairs.judge(std::move(judge));
  parts_->queue_pairs.judge([&lasting, judge = std::move(judge)](layouts::wqe_opcode opcode) {
    return lasting(opcode) && (!judge || judge(opcode));
  });
}

const options& device::how() const {
  return parts_->how;
}
adapter& device::inside_now() {
  return parts_->all;
}
adapter& device::inside() {
  parts_->looked_into = true;
  return parts_->all;
}

std::uint64_t device::complaints() const {
  return parts_->rules.complaints();
}

void device::remarks(void (*out)(const remark&, void* context), void* context) const {
  parts_->rules.kept([&](const remark& n) { out(n, context); });
}
bool device::dump(std::string_view which, std::string& text) {
  if (parts_->failed) {
    text = "the adapter has failed and answers nothing until a reset";
    return false;
  }
  object_dump d = dump_object(parts_->all, which);
  text = std::move(d.text);
  return d.found;
}
void device::set_strict(bool strict) {
  const recorded_call r(parts_->recording.get(), "set_strict",
                        [&](json_line& l) { l.boolean("strict", strict); });
  parts_->how.strict = strict;
}
void device::set_rules_off(const rule_set& rules) {
  const recorded_call r(parts_->recording.get(), "set_rules_off",
                        [&](json_line& l) { l.text("rules", names_of(rules)); });
  parts_->how.rules_off = rules;
}

bool device::receives(unsigned number, reception& what) const {
  const parts::call now(*parts_);
  const ethernet_port* port = parts_->links.ethernet(number);
  if (port == nullptr || !port->is_open() || parts_->failed) return false;
  const receive_filter filter = port->filter();
  const listening queues = parts_->queue_pairs.listens(number);
  what = reception{};
  what.mac = filter.macs.empty() ? port->mac() : filter.macs.front();
  static constexpr std::uint64_t everybody = 0xffff'ffff'ffff;
  // A guest can name thousands of addresses.
  std::unordered_set<std::uint64_t> told{what.mac, everybody};
  const auto add = [&told](std::uint64_t mac, std::vector<std::uint64_t>& to) {
    if (told.insert(mac).second) to.push_back(mac);
  };
  for (const std::uint64_t mac : filter.macs) add(mac, what.unicast);
  for (const std::uint64_t mac : queues.unicast) add(mac, what.unicast);
  for (const std::uint64_t mac : queues.multicast) add(mac, what.multicast);
  for (const std::uint64_t mac : filter.multicast) add(mac, what.multicast);
  for (unsigned vid = 0; vid < filter.vlans.size(); ++vid)
    if (filter.vlans[vid]) what.vlans.push_back(static_cast<std::uint16_t>(vid));
  what.all_vlans = !filter.filters_vlans;
  const auto has_everybody = [](const std::vector<std::uint64_t>& macs) {
    return std::ranges::find(macs, everybody) != macs.end();
  };
  what.broadcast = !filter.filters_multicast || has_everybody(filter.multicast);
  what.promiscuous = queues.promiscuous;
  what.all_multicast = !filter.filters_multicast;
  if (parts_->profile.device_managed_steering) {  // as ethernet_port::let_in() has it
    what.broadcast = queues.all_multicast || has_everybody(queues.multicast);
    what.all_multicast = queues.all_multicast;
  }
  return true;
}

bool device::view(unsigned number, port_view& what) const {
  const port* here = parts_->links.infiniband(number);
  if (here == nullptr) here = parts_->links.ethernet(number);
  if (here == nullptr || parts_->failed) return false;
  what = {here->layer(), here->is_open(), here->has_peer(), here->link_up(), here->active()};
  return true;
}

bool device::counter_at(std::size_t index, counter& out) const {
  if (index >= parts_->counters.size()) return false;
  out = {parts_->counters.name(index), parts_->counters.value(index)};
  return true;
}

}  // namespace freehca::model
