// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/model/c_api.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <freehca/model/device.hpp>
#include <freehca/model/rules.hpp>

#include "faults/fault_text.hpp"

namespace {

using namespace freehca::model;

static_assert(static_cast<unsigned>(remark_kind::command) == FREEHCA_REMARK_COMMAND &&
              static_cast<unsigned>(remark_kind::refused) == FREEHCA_REMARK_REFUSED &&
              static_cast<unsigned>(remark_kind::work_error) == FREEHCA_REMARK_WORK_ERROR &&
              static_cast<unsigned>(remark_kind::packet_dropped) == FREEHCA_REMARK_PACKET_DROPPED &&
              static_cast<unsigned>(remark_kind::event) == FREEHCA_REMARK_EVENT &&
              static_cast<unsigned>(remark_kind::doorbell) == FREEHCA_REMARK_DOORBELL &&
              static_cast<unsigned>(remark_kind::complaint) == FREEHCA_REMARK_COMPLAINT);

class c_environment final : public environment {
 public:
  explicit c_environment(const freehca_model_environment& c) : c_(c) {}
  bool dma_read(std::uint64_t address, void* to, std::size_t bytes) override {
    return c_.dma_read(c_.context, address, to, bytes);
  }
  bool dma_write(std::uint64_t address, const void* from, std::size_t bytes) override {
    return c_.dma_write(c_.context, address, from, bytes);
  }
  bool bus_master() override { return c_.bus_master(c_.context); }
  bool msix_enabled() override { return c_.msix_enabled(c_.context); }
  void msix(unsigned vector) override { c_.msix(c_.context, vector); }
  void intx(bool asserted) override { c_.intx(c_.context, asserted); }
  std::uint64_t now() override { return c_.now(c_.context); }
  void arm_timer(std::uint64_t deadline) override { c_.arm_timer(c_.context, deadline); }
  void wipe_configuration_space() override { c_.wipe_configuration_space(c_.context); }
  bool listens(remark_kind k) override { return c_.listens(c_.context, static_cast<unsigned>(k)); }
  void tell(const remark& n) override {
    c_.tell(c_.context, static_cast<unsigned>(n.kind), n.rule, n.text.c_str());
  }
  bool link_send(unsigned port, const std::byte* from, std::size_t bytes) override {
    return c_.link_send(c_.context, port, from, bytes);
  }
  void packet_passed(unsigned port, const std::byte* from, std::size_t bytes) override {
    c_.packet_passed(c_.context, port, from, bytes);
  }
  bool record(const char* from, std::size_t bytes) override {
    return c_.record(c_.context, from, bytes);
  }

 private:
  freehca_model_environment c_;
};

std::string_view without(const freehca_model_options& o) {
  return o.without == nullptr ? std::string_view{} : o.without;
}

std::string_view rules_off(const freehca_model_options& o) {
  return o.rules_off == nullptr ? std::string_view{} : o.rules_off;
}

/// Why `text` is no list of rules.
std::string not_rules(std::string_view text) {
  std::string why =
      "'" + std::string(text) + "' is no list of rules with commas between them; the rules are";
  for (std::size_t i = 0; i < static_cast<std::size_t>(rule::count); ++i)
    why += " " + std::string(entry_of(static_cast<rule>(i)).name);
  return why;
}

/// Why `o` makes no adapter; empty when it does.
std::string refusal(const freehca_model_options& o) {
  const auto power_of_two = [](std::uint64_t v) { return v != 0 && (v & (v - 1)) == 0; };
  if (o.variant > 2) return "variant must be connectx3-pro, connectx3 or connectx2";
  if (o.ports != 1 && o.ports != 2) return "ports must be 1 or 2";
  if (o.link[0] > 1 || o.link[1] > 1) return "a link must be ib or eth";
  if (o.log_max_commands > 7) return "max-commands must be a power of two from 1 to 128";
  if (!power_of_two(o.uar_bar_bytes) || o.uar_bar_bytes < (8u << 20) ||
      o.uar_bar_bytes > (128u << 20))
    return "bar2-size must be a power of two from 8 MiB to 128 MiB";
  if (o.host_memory_limit < options::least_host_memory)
    return "host-memory-limit must be 32 MiB or more";
  if ((o.node_guid & 0xff) > 0xfc)
    return "guid must leave room for three more numbers in its last byte";
  if (o.mac >> 48 != 0) return "mac must have 48 bits";
  if ((o.mac >> 40 & 1) != 0) return "mac must not be a group address";
  if (!capability_set::named(without(o))) {
    std::string why = "x-without=" + std::string(without(o)) + ": the capabilities are";
    for (const capability_name& c : capability_names) why += " " + std::string(c.name);
    return why;
  }
  if (!rule_set::named(rules_off(o))) return "x-rules-off: " + not_rules(rules_off(o));
  return "";
}

options to_options(const freehca_model_options& c) {
  options o;
  o.kind = static_cast<variant>(c.variant);
  o.ports = c.ports;
  o.link[0] = static_cast<link_layer>(c.link[0]);
  o.link[1] = static_cast<link_layer>(c.link[1]);
  o.vpi[0] = c.vpi[0];
  o.vpi[1] = c.vpi[1];
  o.cable[0] = c.cable[0];
  o.cable[1] = c.cable[1];
  o.capture[0] = c.capture[0];
  o.capture[1] = c.capture[1];
  o.subnet_manager = c.subnet_manager;
  if (c.node_guid != 0) o.node_guid = c.node_guid;
  if (c.mac != 0) o.mac = c.mac;
  o.log_max_commands = c.log_max_commands;
  o.command_interface = c.command_interface;
  o.uar_bar_bytes = c.uar_bar_bytes;
  o.host_memory_limit = c.host_memory_limit;
  o.faults.command_acceptance_ns = c.command_acceptance_ns;
  o.faults.command_latency_ns = c.command_latency_ns;
  o.faults.commands_side_by_side = c.commands_side_by_side;
  o.faults.work_latency_ns = c.work_latency_ns;
  o.faults.reset_latency_ns = c.reset_latency_ns;
  o.faults.time_seed = c.time_seed;
  o.without = capability_set::named(without(c)).value_or(capability_set{});
  o.strict = c.strict;
  o.prefetch = c.prefetch;
  o.rules_off = rule_set::named(rules_off(c)).value_or(rule_set{});
  o.record = c.record;
  if (c.record_label != nullptr) o.record_label = c.record_label;
  o.doorbells_under_way = c.doorbells_under_way;
  return o;
}

}  // namespace

struct freehca_model {
  freehca_model(const freehca_model_environment& e, const freehca_model_options& o)
      : surroundings(e), adapter(surroundings, to_options(o)) {}
  c_environment surroundings;
  device adapter;
};

extern "C" {

void freehca_model_default_options(freehca_model_options* to) {
  const options o;
  *to = freehca_model_options{
      static_cast<std::uint8_t>(o.kind),
      static_cast<std::uint8_t>(o.ports),
      {static_cast<std::uint8_t>(o.link[0]), static_cast<std::uint8_t>(o.link[1])},
      {o.vpi[0], o.vpi[1]},
      {o.cable[0], o.cable[1]},
      {o.capture[0], o.capture[1]},
      o.subnet_manager,
      static_cast<std::uint8_t>(o.log_max_commands),
      static_cast<std::uint16_t>(o.command_interface),
      o.node_guid,
      o.mac,
      o.uar_bar_bytes,
      o.host_memory_limit,
      o.faults.command_acceptance_ns,
      o.faults.command_latency_ns,
      o.faults.commands_side_by_side,
      o.strict,
      o.prefetch,
      nullptr,
      o.faults.work_latency_ns,
      o.faults.reset_latency_ns,
      o.faults.time_seed,
      nullptr,
      o.record,
      nullptr,
      o.doorbells_under_way};
}

freehca_model* freehca_model_create(const freehca_model_environment* surroundings,
                                    const freehca_model_options* how, char* error,
                                    size_t error_bytes) {
  if (const std::string why = refusal(*how); !why.empty()) {
    std::snprintf(error, error_bytes, "%s", why.c_str());
    return nullptr;
  }
  if (error_bytes != 0) error[0] = '\0';
  return new freehca_model(*surroundings, *how);
}

void freehca_model_destroy(freehca_model* model) {
  delete model;
}

uint64_t freehca_model_read_registers(freehca_model* model, uint64_t offset, unsigned bytes) {
  return model->adapter.read_registers(offset, bytes);
}
void freehca_model_write_registers(freehca_model* model, uint64_t offset, uint64_t value,
                                   unsigned bytes) {
  model->adapter.write_registers(offset, value, bytes);
}
uint64_t freehca_model_read_uar(freehca_model* model, uint64_t offset, unsigned bytes) {
  return model->adapter.read_uar(offset, bytes);
}
void freehca_model_write_uar(freehca_model* model, uint64_t offset, uint64_t value,
                             unsigned bytes) {
  model->adapter.write_uar(offset, value, bytes);
}
void freehca_model_look_at_uar(freehca_model* model, uint32_t page, bool sends, bool completions) {
  model->adapter.look_at_uar(page, sends, completions);
}
void freehca_model_uar_pages(const freehca_model* model,
                             void (*out)(void*, const freehca_model_uar_page*), void* context) {
  struct call {
    decltype(out) to;
    void* context;
  } c{out, context};
  model->adapter.uar_pages(
      [](const uar_page& p, void* with) {
        const auto& to = *static_cast<call*>(with);
        const freehca_model_uar_page page{p.number, p.doorbells, p.blueflame, p.bytes};
        to.to(to.context, &page);
      },
      &c);
}
uint64_t freehca_model_uar_page_changes(const freehca_model* model) {
  return model->adapter.uar_page_changes();
}
void freehca_model_on_timer(freehca_model* model) {
  model->adapter.on_timer();
}
void freehca_model_reset(freehca_model* model) {
  model->adapter.reset();
}
void freehca_model_link_receive(freehca_model* model, unsigned port, const void* from,
                                size_t bytes) {
  model->adapter.link_receive(port, static_cast<const std::byte*>(from), bytes);
}
bool freehca_model_link_may_receive(const freehca_model* model) {
  return model->adapter.link_may_receive();
}
void freehca_model_link_has_room(freehca_model* model, unsigned port) {
  model->adapter.link_has_room(port);
}
void freehca_model_plug_cable(freehca_model* model, unsigned port, bool plugged) {
  model->adapter.plug_cable(port, plugged);
}
bool freehca_model_receives(const freehca_model* model, unsigned port,
                            freehca_model_receive_filter* filter) {
  reception here;
  if (!model->adapter.receives(port, here)) return false;
  for (const auto* addresses : {&here.unicast, &here.multicast})
    for (const uint64_t mac : *addresses) filter->add_address(filter->context, mac);
  for (const uint16_t vlan : here.vlans) filter->add_vlan(filter->context, vlan);
  filter->mac = here.mac;
  filter->broadcast = here.broadcast;
  filter->promiscuous = here.promiscuous;
  filter->all_multicast = here.all_multicast;
  filter->all_vlans = here.all_vlans;
  return true;
}

bool freehca_model_view_port(const freehca_model* model, unsigned port,
                             freehca_model_port_view* view) {
  port_view here;
  if (!model->adapter.view(port, here)) return false;
  *view = {here.layer == link_layer::ethernet, here.open, here.peer, here.link_up, here.active};
  return true;
}

void freehca_model_set_command_times(freehca_model* model, uint64_t acceptance_ns,
                                     uint64_t latency_ns, bool side_by_side) {
  fault_options faults = model->adapter.faults();
  faults.command_acceptance_ns = acceptance_ns;
  faults.command_latency_ns = latency_ns;
  faults.commands_side_by_side = side_by_side;
  model->adapter.set_faults(faults);
}

void freehca_model_set_work_times(freehca_model* model, uint64_t work_latency_ns,
                                  uint64_t reset_latency_ns, uint64_t seed) {
  fault_options faults = model->adapter.faults();
  faults.work_latency_ns = work_latency_ns;
  faults.reset_latency_ns = reset_latency_ns;
  faults.time_seed = seed;
  model->adapter.set_faults(faults);
}

bool freehca_model_in_reset(const freehca_model* model) {
  return model->adapter.in_reset();
}

bool freehca_model_set_command_fault(freehca_model* model, const char* fault, char* error,
                                     size_t error_bytes) {
  command_judge judge;
  if (const char* why = parse_command_fault(fault, judge)) {
    if (error_bytes != 0) std::snprintf(error, error_bytes, "%s", why);
    return false;
  }
  model->adapter.judge_commands(std::move(judge));
  return true;
}

bool freehca_model_set_event_fault(freehca_model* model, const char* fault, char* error,
                                   size_t error_bytes) {
  event_judge judge;
  if (const char* why = parse_event_fault(fault, judge)) {
    if (error_bytes != 0) std::snprintf(error, error_bytes, "%s", why);
    return false;
  }
  model->adapter.judge_events(std::move(judge));
  return true;
}

bool freehca_model_raise_event(freehca_model* model, const char* event, char* error,
                               size_t error_bytes) {
  raised_event wanted;
  const char* why = parse_raised_event(event, wanted);
  if (why == nullptr && !model->adapter.raise_event(wanted))
    why = "an event queue must take events of this type";
  if (why != nullptr && error_bytes != 0) std::snprintf(error, error_bytes, "%s", why);
  return why == nullptr;
}

bool freehca_model_set_link_fault(freehca_model* model, unsigned port, const char* fault,
                                  char* error, size_t error_bytes) {
  link_faults wanted;
  const char* why = parse_link_fault(fault, wanted);
  if (why == nullptr && !model->adapter.set_link_faults(port, wanted) && *fault != '\0')
    why = "the port must have a cable";
  if (why != nullptr && error_bytes != 0) std::snprintf(error, error_bytes, "%s", why);
  return why == nullptr;
}

uint64_t freehca_model_held_commands(const freehca_model* model) {
  return model->adapter.held_commands();
}
void freehca_model_answer_held_commands(freehca_model* model) {
  model->adapter.release_held_commands();
}

void freehca_model_fail(freehca_model* model) {
  model->adapter.fail();
}
bool freehca_model_failed(const freehca_model* model) {
  return model->adapter.failed();
}

void freehca_model_set_strict(freehca_model* model, bool strict) {
  model->adapter.set_strict(strict);
}

bool freehca_model_set_rules_off(freehca_model* model, const char* rules, char* error,
                                 std::size_t error_bytes) {
  const auto set = rule_set::named(rules);
  if (!set) {
    std::snprintf(error, error_bytes, "%s", not_rules(rules).c_str());
    return false;
  }
  model->adapter.set_rules_off(*set);
  return true;
}

void freehca_model_remarks(const freehca_model* model,
                           void (*out)(void*, std::uint64_t, std::uint64_t, const char*,
                                       const char*, const char*),
                           void* context) {
  struct call {
    decltype(out) to;
    void* context;
  } c{out, context};
  model->adapter.remarks(
      [](const remark& n, void* with) {
        const auto& to = *static_cast<call*>(with);
        to.to(to.context, n.number, n.time, name_of(n.kind).data(), n.rule, n.text.c_str());
      },
      &c);
}

bool freehca_model_obstacle_to_saving(const freehca_model* model, char* why,
                                      std::size_t why_bytes) {
  const std::string obstacle = model->adapter.obstacle_to_saving();
  std::snprintf(why, why_bytes, "%s", obstacle.c_str());
  return !obstacle.empty();
}

void freehca_model_save(freehca_model* model, void (*out)(void*, const void*, std::size_t),
                        void* context) {
  const std::vector<std::byte> stream = model->adapter.save();
  out(context, stream.data(), stream.size());
}

bool freehca_model_load(freehca_model* model, const void* stream, std::size_t bytes, char* why,
                        std::size_t why_bytes) {
  std::string reason;
  if (model->adapter.load({static_cast<const std::byte*>(stream), bytes}, reason)) return true;
  std::snprintf(why, why_bytes, "%s", reason.c_str());
  return false;
}

std::uint64_t freehca_model_state_digest(freehca_model* model) {
  return model->adapter.state_digest();
}

void freehca_model_end_recording(freehca_model* model) {
  model->adapter.end_recording();
}

bool freehca_model_dump(freehca_model* model, const char* which, char* text, std::size_t bytes) {
  std::string whole;
  const bool found = model->adapter.dump(which, whole);
  std::snprintf(text, bytes, "%s", whole.c_str());
  return found;
}

bool freehca_model_counter(const freehca_model* model, unsigned index, const char** name,
                           uint64_t* value) {
  counter c;
  if (!model->adapter.counter_at(index, c)) return false;
  *name = c.name;
  *value = c.value;
  return true;
}
}
